// Keys of a page. An element names its key in data-hotkey; a key acts only outside of
// fields, unless it has a modifier, and not at all where the reader has turned keys off.
import { install, uninstall } from '@github/hotkey';

const keysAreOn = () => document.documentElement.dataset.keys !== 'off';

// isSingleKey says whether a key may act that has no modifier: not in a field, and not where the
// reader has turned keys off.
export const isSingleKey = (e) =>
  keysAreOn() && !e.ctrlKey && !e.metaKey && !e.altKey && !e.defaultPrevented && !e.target.closest?.('input, textarea, select, [contenteditable], dialog');

// installKeys makes the keys act that elements below root name.
export function installKeys(root = document) {
  for (const element of root.querySelectorAll('[data-hotkey]')) {
    if (keysAreOn() || element.dataset.hotkey.includes('+')) install(element);
    else uninstall(element);
  }
}

// installModified makes keys with a modifier act that also act within fields: Alt+R and
// Alt+C turn the switches of the query.
export function installModified() {
  document.addEventListener('keydown', (e) => {
    const name = e.altKey && !e.ctrlKey && !e.metaKey && !e.shiftKey && { KeyR: 're', KeyC: 'case' }[e.code];
    if (!name) return;
    e.preventDefault();
    document.querySelector(`form.find-code [name=${name}]`)?.click();
  });
}
