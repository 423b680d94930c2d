package oidc

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/network"
)

// Bounds of a sign-in.
const (
	// MaxFlowAge is how long a person may spend at the provider.
	MaxFlowAge = 10 * time.Minute
	// MaxSkew is how far the clocks of the provider and of this machine may differ.
	MaxSkew = time.Minute

	requestTimeout = 10 * time.Second // for one request to a provider
	maxAnswerBytes = 1 << 20          // for one response of a provider
	maxCarried     = 1024             // bytes that a flow carries for its caller
)

// Provider is an OpenID Connect provider.
type Provider struct {
	// Name is used in addresses: letters, digits, dash and underscore, at most 64.
	Name string
	// Title is the provider's name for people. Empty: Name.
	Title string
	// Issuer is an https URL, or http on loopback.
	Issuer   string
	ClientID string
	// ClientSecret is empty for public clients.
	ClientSecret string
	// Scopes are requested in addition to openid. None: profile and email.
	Scopes []string
	// AllowedDomains are the domains of e-mail addresses that may sign in. None: any.
	AllowedDomains []string
	// TrustEmail treats the provider's e-mail addresses as verified if the provider does
	// not report whether they are. It is for directories in which only administrators set
	// addresses.
	TrustEmail bool
	// HostClaim is the claim of the ID token with the user's ID at a code host. Empty: none.
	HostClaim string
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Validate returns an error for an invalid configuration.
func (p *Provider) Validate() error {
	u, err := url.Parse(p.Issuer)
	switch {
	case !nameForm.MatchString(p.Name):
		return fmt.Errorf("name %.80q: want 1 to 64 letters, digits, dashes or underscores", p.Name)
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("issuer %.200q is no URL of an issuer", p.Issuer)
	case u.Scheme != "https" && (u.Scheme != "http" || !network.IsLoopback(u.Hostname())):
		return fmt.Errorf("issuer %.200q: want https; http is for loopback only", p.Issuer)
	case p.ClientID == "":
		return errors.New("clientId is needed")
	}
	if strings.Contains(p.Issuer, account.HostClaimSeparator) || len(p.HostClaim) > 64 || strings.ContainsFunc(p.HostClaim, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("hostClaim %.80q: want the name of a claim, such as github_id", p.HostClaim)
	}
	for _, d := range p.AllowedDomains {
		if d == "" || strings.ContainsAny(d, "@* ") {
			return fmt.Errorf("allowedDomains: %.80q is no domain, such as example.com", d)
		}
	}
	return nil
}

// Options configure a Client. PublicURL and Secret are required.
type Options struct {
	Providers []Provider
	// PublicURL is the base of our own addresses.
	PublicURL string
	// Secret is the server's secret; the key of the cookies is derived from it.
	Secret []byte
	// Transport sends requests to the providers.
	Transport http.RoundTripper
	Now       func() time.Time
}

func (o *Options) ensureDefaults() {
	if o.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DialContext = (&net.Dialer{Timeout: requestTimeout / 2}).DialContext
		transport.MaxIdleConnsPerHost = 2
		o.Transport = transport
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Providers = slices.Clone(o.Providers)
	for i := range o.Providers {
		if o.Providers[i].Title == "" {
			o.Providers[i].Title = o.Providers[i].Name
		}
		if len(o.Providers[i].Scopes) == 0 {
			o.Providers[i].Scopes = []string{"profile", "email"}
		}
	}
}

func (o *Options) validate() error {
	if len(o.Secret) < 16 {
		return errors.New("oidc: the secret is too short")
	}
	seen := map[string]bool{}
	for i := range o.Providers {
		p := &o.Providers[i]
		if err := p.Validate(); err != nil {
			return fmt.Errorf("oidc: provider %d: %w", i, err)
		}
		if seen[p.Name] {
			return fmt.Errorf("oidc: the provider %s is given twice", p.Name)
		}
		seen[p.Name] = true
	}
	return nil
}
