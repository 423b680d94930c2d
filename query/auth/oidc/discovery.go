package oidc

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Times for a provider's metadata.
const (
	// retryInterval is how long a failure is cached before the provider is contacted
	// again.
	retryInterval = 2 * time.Second
	// metadataAge is how long metadata is cached. Keys are fetched again as soon as a
	// token names an unknown one, regardless of age.
	metadataAge = 12 * time.Hour
)

// remote is a provider with its cached metadata.
type remote struct {
	config Provider
	mu     struct {
		sync.Mutex // held during the request to the provider: concurrent callers wait for the same response
		found      *providerMetadata
		err        error
		at         time.Time // time of found or err
	}
}

// providerMetadata is what a provider has published. It is immutable.
type providerMetadata struct {
	provider *goidc.Provider
	oauth    oauth2.Config
	// saysIssuer is set if the provider promises that its responses name it (RFC 9207).
	saysIssuer bool
}

// discoverProvider returns the provider's metadata, from the cache if it is recent
// enough.
func (c *Client) discoverProvider(r *remote) (*providerMetadata, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	age := c.o.Now().Sub(r.mu.at)
	switch {
	case r.mu.found != nil && age < metadataAge && r.mu.err == nil:
		return r.mu.found, nil
	case r.mu.err != nil && age < retryInterval:
		return r.mu.found, r.failedLocked()
	}
	fresh, err := c.fetchMetadata(&r.config)
	r.mu.err, r.mu.at = err, c.o.Now()
	if err == nil {
		r.mu.found = fresh
	}
	return r.mu.found, r.failedLocked()
}

// failedLocked returns the error if there is no metadata: old metadata is better than
// none.
func (r *remote) failedLocked() error {
	if r.mu.found != nil {
		return nil
	}
	return r.mu.err
}

// fetchMetadata fetches the metadata. It uses its own timeout, not that of the request
// that triggered it, because other requests wait for the result, too.
func (c *Client) fetchMetadata(p *Provider) (*providerMetadata, error) {
	ctx, cancel := context.WithTimeout(goidc.ClientContext(context.Background(), c.http), requestTimeout)
	defer cancel()
	provider, err := goidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: metadata of %s: %w", ErrUnavailable, p.Issuer, err)
	}
	var more struct {
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
		SaysIssuer  bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, fmt.Errorf("%w: metadata of %s: %w", ErrUnavailable, p.Issuer, err)
	}
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = authStyle(p.ClientSecret, more.AuthMethods)
	return &providerMetadata{provider: provider, saysIssuer: more.SaysIssuer, oauth: oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: endpoint,
		RedirectURL: c.CallbackURL(p.Name),
		Scopes:      slices.Concat([]string{goidc.ScopeOpenID}, p.Scopes),
	}}, nil
}

// authStyle returns how the client authenticates to the provider. The header is the
// default for providers that do not list methods.
func authStyle(secret string, methods []string) oauth2.AuthStyle {
	if secret == "" || len(methods) > 0 && !slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// boundedTransport is a transport that cuts responses off after maxAnswerBytes.
type boundedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswerBytes), answer.Body}
	}
	return answer, err
}

// sameHost refuses redirects to other hosts, so that requests, which contain our secret,
// reach only the provider.
func sameHost(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}
