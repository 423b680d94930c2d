package oidc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/quarrysearch/quarry/query/publicurl"
	"github.com/quarrysearch/quarry/schemas/account"
)

// Client signs in with the configured providers.
type Client struct {
	o       Options
	public  publicurl.URL
	key     []byte // of the cookies
	http    *http.Client
	remotes map[string]*remote
	used    usedFlows
}

// New returns a Client. It contacts no provider.
func New(o Options) (*Client, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	public, err := publicurl.Parse(o.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("oidc: PublicURL: %w", err)
	}
	c := &Client{
		o: o, public: public, key: flowKey(o.Secret), remotes: map[string]*remote{},
		http: &http.Client{Transport: boundedTransport{o.Transport}, Timeout: requestTimeout, CheckRedirect: sameHost},
	}
	for _, p := range o.Providers {
		c.remotes[p.Name] = &remote{config: p}
	}
	return c, nil
}

// Providers returns the configured providers in order.
func (c *Client) Providers() []Provider { return c.o.Providers }

// CallbackURL returns the address that a provider redirects people to. It must be
// registered at the provider.
func (c *Client) CallbackURL(name string) string {
	return c.public.String() + "/auth/oidc/" + name + "/callback"
}

// Departure is the redirect of a browser to a provider.
type Departure struct {
	URL    string
	Cookie *http.Cookie
}

// Depart begins a sign-in. The Arrival returns carried, at most 1024 bytes, which the
// person can read.
func (c *Client) Depart(name, carried string) (*Departure, error) {
	r, ok := c.remotes[name]
	if !ok {
		return nil, fmt.Errorf("%w: %.80q", ErrUnknown, name)
	}
	if len(carried) > maxCarried {
		return nil, fmt.Errorf("oidc: %d bytes are too many for a flow to carry", len(carried))
	}
	provider, err := c.discoverProvider(r)
	if err != nil {
		return nil, err
	}
	f := &flow{
		Provider: name, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Carried: carried, Until: c.o.Now().Add(MaxFlowAge).Unix(),
	}
	sealed, err := c.sealFlow(f)
	if err != nil {
		return nil, err
	}
	target := provider.oauth.AuthCodeURL(f.State, goidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier))
	return &Departure{URL: target, Cookie: c.flowCookie(sealed, MaxFlowAge)}, nil
}

// Arrival is a person that a provider has redirected back.
type Arrival struct {
	Identity account.Identity
	// Email is in lower case and verified; empty if the provider verifies none.
	Email string
	// HostUser is the identity of the person at a code host, from Provider.HostClaim;
	// zero if the token does not contain the claim.
	HostUser account.Identity
	// Name is the person's name at the provider; may be empty.
	Name    string
	Carried string
}

// Arrive completes a sign-in: r is the provider's callback.
func (c *Client) Arrive(ctx context.Context, name string, r *http.Request) (*Arrival, error) {
	remote, ok := c.remotes[name]
	if !ok {
		return nil, fmt.Errorf("%w: %.80q", ErrUnknown, name)
	}
	f, err := c.openFlow(r, name)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	if code := query.Get("error"); code != "" {
		return nil, fmt.Errorf("%w: %.100q: %.300q", ErrDenied, code, query.Get("error_description"))
	}
	provider, err := c.discoverProvider(remote)
	if err != nil {
		return nil, err
	}
	// RFC 9207: reject the response of another provider.
	if issuer := query.Get("iss"); issuer != remote.config.Issuer && (issuer != "" || provider.saysIssuer) {
		return nil, fmt.Errorf("%w: it comes from the issuer %.200q", ErrFlow, issuer)
	}
	ctx, cancel := context.WithTimeout(goidc.ClientContext(ctx, c.http), requestTimeout)
	defer cancel()
	token, err := provider.oauth.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return nil, exchangeError(err)
	}
	arrival, err := c.identifyPerson(ctx, remote, provider, token, f.Nonce)
	if err != nil {
		return nil, err
	}
	arrival.Carried = f.Carried
	return arrival, nil
}

// exchangeError classifies a failed code exchange: invalid code, unknown client, or
// provider unavailable.
func exchangeError(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case ok && refused.ErrorCode == "invalid_grant":
		return fmt.Errorf("%w: exchange the code: %w", ErrFlow, err)
	case ok && refused.Response.StatusCode < http.StatusInternalServerError:
		return fmt.Errorf("%w: exchange the code: %w", ErrToken, err)
	}
	return fmt.Errorf("%w: exchange the code: %w", ErrUnavailable, err)
}
