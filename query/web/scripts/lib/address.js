// Addresses of this server, which people may reach below a path of its host.

// at returns an address, such as /find, below that path, which the page names.
export const at = (address) => (document.documentElement.dataset.path ?? '') + address;
