package codehosts

import (
	"fmt"
	"net/netip"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/mirror"
)

// newPolicy returns the policy on what git and the clients of the hosts' APIs may access.
func newPolicy(c *config.Config, hosts *Hosts) (mirror.Policy, error) {
	p := mirror.Policy{Schemes: c.Git.AllowedProtocols, Roots: c.Git.AllowedRoots, Trust: hosts.isTrusted, Proxied: hosts.isProxied}
	var err error
	if p.Networks, err = parseNetworks("git.allowedNetworks", c.Git.AllowedNetworks); err != nil {
		return p, err
	}
	p.Denied, err = parseNetworks("git.deniedNetworks", c.Git.DeniedNetworks)
	return p, err
}

func parseNetworks(setting string, texts []string) ([]netip.Prefix, error) {
	networks := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		var err error
		if networks[i], err = netip.ParsePrefix(text); err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
	}
	return networks, nil
}
