package hostapi

import (
	"context"
	"encoding/base64"
	"net/http"
)

// Authorize returns a client that sends a header with every request to one host, and only
// to that host. value is called before each request, so that it can renew a token.
func Authorize(client *http.Client, host, header string, value func(ctx context.Context) (string, error)) *http.Client {
	out := *client
	out.Transport = &authorizer{next: client.Transport, host: host, header: header, value: value}
	return &out
}

// AuthorizeWith is Authorize with a fixed value; if value is empty, it returns client.
func AuthorizeWith(client *http.Client, host, header, value string) *http.Client {
	if value == "" {
		return client
	}
	return Authorize(client, host, header, func(context.Context) (string, error) { return value, nil })
}

// BasicAuthorization returns the Authorization header value for a user and a password.
func BasicAuthorization(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

type authorizer struct {
	next         http.RoundTripper
	host, header string
	value        func(ctx context.Context) (string, error)
}

// RoundTrip implements http.RoundTripper.
func (a *authorizer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != a.host {
		return a.next.RoundTrip(r)
	}
	value, err := a.value(r.Context())
	if err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	out.Header.Set(a.header, value)
	return a.next.RoundTrip(out)
}
