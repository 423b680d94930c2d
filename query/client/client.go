package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds and defaults.
const (
	// MaxAnswerBytes bounds a response that is read as a whole.
	MaxAnswerBytes = 1 << 30
	// MaxFrameBytes bounds one frame of a stream.
	MaxFrameBytes = 256 << 20
	// DefaultRetries is how often a request is retried.
	DefaultRetries = 2
	// DefaultMaxWait bounds the wait before a retry.
	DefaultMaxWait = 30 * time.Second
	// NoRetries, as Options.Retries, disables retries.
	NoRetries = -1
)

const (
	contentTypeJSON  = "application/json"
	contentTypeBytes = "application/octet-stream"
)

// maxErrorBytes bounds how much of an error response is read.
const maxErrorBytes = 64 << 10

// Options configure a Client. The zero value sends no credential.
type Options struct {
	// APIKey is an API key or a scoped access token.
	APIKey string
	// UserAgent is the User-Agent header; "quarry-client" if empty.
	UserAgent string
	// Retries is how often a request that was not accepted is retried; 0 means
	// DefaultRetries.
	Retries int
	// MaxWait bounds the wait before a retry; 0 means DefaultMaxWait.
	MaxWait time.Duration
	// Transport sends the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
}

func (o *Options) ensureDefaults() {
	if o.UserAgent == "" {
		o.UserAgent = "quarry-client"
	}
	if o.Retries == 0 {
		o.Retries = DefaultRetries
	}
	if o.MaxWait == 0 {
		o.MaxWait = DefaultMaxWait
	}
}

// Client sends requests to one server.
type Client struct {
	base *url.URL // without a trailing slash
	o    Options
	http *http.Client
}

// New returns a client of the server at base, such as http://127.0.0.1:7070.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(strings.TrimRight(base, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("server %q: want a URL such as http://127.0.0.1:7070", base)
	}
	o.ensureDefaults()
	c := &Client{base: u, o: o}
	c.http = &http.Client{Transport: o.Transport, CheckRedirect: c.checkRedirect}
	return c, nil
}

// maxRedirects bounds redirects.
const maxRedirects = 5

// checkRedirect refuses to send a credential to another server.
func (c *Client) checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return errors.New("too many redirections")
	}
	return c.sameOrigin(r.URL)
}

func (c *Client) sameOrigin(u *url.URL) error {
	if u.Scheme != c.base.Scheme || u.Host != c.base.Host {
		return fmt.Errorf("%s leads away from %s", u.Redacted(), c.base)
	}
	return nil
}

// request is a request of an operation.
type request struct {
	method, path string
	query        url.Values
	body         any
	// reads is set if the request changes nothing, however often it is sent.
	reads bool
}

func (r *request) pathWithQuery() string {
	if len(r.query) == 0 {
		return r.path
	}
	return r.path + "?" + r.query.Encode()
}

// Raw sends a request to path, which may contain a query, and returns the response. The
// caller must close its body. body is sent as JSON; nil sends none. The error wraps an
// *Error if the server returned an error.
func (c *Client) Raw(ctx context.Context, method, path string, body any) (*http.Response, error) {
	return c.sendWithRetries(ctx, request{method: method, path: path, body: body, reads: method == http.MethodGet})
}

// Upload sends a body as it is, without retries, and decodes the response into v. The
// error wraps an *Error if the server returned an error.
func (c *Client) Upload(ctx context.Context, path string, query url.Values, body io.Reader, v any) error {
	r := request{method: http.MethodPost, path: path, query: query}
	response, err := c.sendBody(ctx, &r, body, contentTypeBytes)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(v); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", r.method, r.path, err)
	}
	return nil
}

// sendWithRetries sends a request, with retries if necessary, and returns a successful
// response.
func (c *Client) sendWithRetries(ctx context.Context, r request) (*http.Response, error) {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
	}
	for try := 0; ; try++ {
		response, err := c.sendOnce(ctx, &r, body)
		if err == nil {
			return response, nil
		}
		if try >= c.o.Retries || !c.awaitRetry(ctx, &r, err) {
			return nil, err
		}
	}
}

func (c *Client) sendOnce(ctx context.Context, r *request, body []byte) (*http.Response, error) {
	if body == nil {
		return c.sendBody(ctx, r, nil, "")
	}
	return c.sendBody(ctx, r, bytes.NewReader(body), contentTypeJSON)
}

func (c *Client) sendBody(ctx context.Context, r *request, body io.Reader, contentType string) (*http.Response, error) {
	out, err := http.NewRequestWithContext(ctx, r.method, c.base.String()+r.pathWithQuery(), body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if body != nil {
		out.Header.Set("Content-Type", contentType)
	}
	c.setCredential(out)
	response, err := c.http.Do(out)
	if err != nil {
		return nil, c.noAnswerError(ctx, err)
	}
	if response.StatusCode/100 != 2 {
		defer func() { _ = response.Body.Close() }()
		return nil, newError(response)
	}
	return response, nil
}

// setCredential adds the credential to a request.
func (c *Client) setCredential(r *http.Request) {
	r.Header.Set("User-Agent", c.o.UserAgent)
	if c.o.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+c.o.APIKey)
	}
}

// noAnswerError strips the request that net/http adds to an error: its address is the
// server's.
func (c *Client) noAnswerError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%w at %s: %w", ErrNoAnswer, c.base, err)
}

// receive sends a request and decodes the response.
func receive[T any](ctx context.Context, c *Client, r request) (T, error) {
	out, _, err := receiveHeader[T](ctx, c, r)
	return out, err
}

func receiveHeader[T any](ctx context.Context, c *Client, r request) (out T, h http.Header, err error) {
	response, err := c.sendWithRetries(ctx, r)
	if err != nil {
		return out, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(response.Body, MaxAnswerBytes)).Decode(&out); err != nil {
		return out, nil, fmt.Errorf("%s %s: read the answer of %s: %w", r.method, r.path, c.base, err)
	}
	return out, response.Header, nil
}

// discard sends a request whose response has no content.
func (c *Client) discard(ctx context.Context, r request) error {
	response, err := c.sendWithRetries(ctx, r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
