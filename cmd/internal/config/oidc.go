package config

import (
	"fmt"

	"github.com/quarrysearch/quarry/query/auth/oidc"
)

// maxProviders bounds the number of providers, because each is a button on the sign-in
// page.
const maxProviders = 20

// newProvider returns p without its secret.
func (p *OIDC) newProvider() oidc.Provider {
	return oidc.Provider{
		Name: p.Name, Title: p.Title, Issuer: p.Issuer, ClientID: p.ClientID, Scopes: p.Scopes,
		AllowedDomains: p.AllowedDomains, TrustEmail: p.TrustEmail, HostClaim: p.HostClaim,
	}
}

// Provider returns p with its secret resolved.
func (p *OIDC) Provider() (oidc.Provider, error) {
	out := p.newProvider()
	if p.ClientSecret.IsZero() {
		return out, nil
	}
	var err error
	out.ClientSecret, err = p.ClientSecret.Value()
	return out, err
}

func (c *Config) validateOIDC(report reporter) {
	if len(c.Access.OIDC) > maxProviders {
		report("access.oidc", "%d of them: at most %d", len(c.Access.OIDC), maxProviders)
	}
	seen := map[string]bool{}
	for i, given := range c.Access.OIDC {
		path := fmt.Sprintf("access.oidc[%d]", i)
		provider := given.newProvider()
		if err := provider.Validate(); err != nil {
			report(path, "%v", err)
		}
		if seen[given.Name] {
			report(path+".name", "%q is given twice", given.Name)
		}
		seen[given.Name] = true
	}
}
