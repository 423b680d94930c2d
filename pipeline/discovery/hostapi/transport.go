package hostapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Defaults of Options.
const (
	DefaultTimeout      = 30 * time.Second
	DefaultMaxBodyBytes = 32 << 20
	DefaultAttempts     = 4
	// DefaultMaxWait is above the hour after which GitHub's primary limit resets.
	DefaultMaxWait = 65 * time.Minute
	// minBackoff is the first wait before a retry; it doubles up to maxBackoff. Half of
	// it is random.
	minBackoff = 500 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// Options configures a Transport. The zero value may reach any address.
type Options struct {
	// Dial opens connections and checks addresses. Default: any address.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy is the proxy to the host, or nil. The proxy resolves the host's name, so Dial
	// is not used.
	Proxy *url.URL
	// RootCAs are the certificate authorities of the host. Default: those of the system.
	RootCAs *x509.CertPool
	// Base sends requests. Default: an http.Transport with the settings above.
	Base http.RoundTripper
	// Timeout bounds one attempt, including the body.
	Timeout      time.Duration
	MaxBodyBytes int64
	// Attempts is the maximum number of times that a request is sent.
	Attempts int
	// MaxWait is the longest wait for a rate limit.
	MaxWait time.Duration
	// Cache caches responses for conditional requests. Default: a Cache of
	// DefaultCacheBytes.
	Cache *Cache
	// Observe is called with the result of each attempt: a Code, "ok" or "not_modified".
	Observe func(result string)
	// Waiting is called before a wait for a rate limit, with the end of the wait.
	Waiting func(until time.Time)
	// Now and Sleep are the clock. Tests set them.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Transport is the http.RoundTripper of one connection. See the package comment.
type Transport struct {
	o    Options
	gate gate
}

var _ http.RoundTripper = (*Transport)(nil)

// NewTransport returns a Transport.
func NewTransport(o Options) *Transport {
	if o.Base == nil {
		base := &http.Transport{
			DialContext: o.Dial, MaxIdleConnsPerHost: 4, TLSClientConfig: &tls.Config{RootCAs: o.RootCAs},
			IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		}
		if o.Proxy != nil {
			base.Proxy, base.DialContext = http.ProxyURL(o.Proxy), nil
		}
		o.Base = base
	}
	setDefault(&o.Timeout, DefaultTimeout)
	setDefault(&o.MaxBodyBytes, DefaultMaxBodyBytes)
	setDefault(&o.Attempts, DefaultAttempts)
	setDefault(&o.MaxWait, DefaultMaxWait)
	if o.Cache == nil {
		o.Cache = NewCache(0)
	}
	if o.Observe == nil {
		o.Observe = func(string) {}
	}
	if o.Waiting == nil {
		o.Waiting = func(time.Time) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleepFor
	}
	return &Transport{o: o}
}

func setDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

func sleepFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxRedirects bounds the redirects of one request.
const maxRedirects = 5

// Client returns an http.Client over t that follows redirects only on the same host.
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
			return newError(Redirected, 0, fmt.Sprintf("%s redirects to %s; set url to the address that answers", via[0].URL.Host, r.URL.Host), nil)
		}
		if len(via) >= maxRedirects {
			return newError(Redirected, 0, fmt.Sprintf("%s redirects more than %d times", via[0].URL.Host, maxRedirects), nil)
		}
		return nil
	}}
}

// RoundTrip implements http.RoundTripper. Its errors are of type *Error, or those of the
// request's context.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	var last *Error
	for attempt := range t.o.Attempts {
		if err := t.waitForGate(r.Context()); err != nil {
			return nil, err
		}
		resp, failed := t.attempt(r, body)
		if failed == nil {
			return resp, nil
		}
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		last = failed
		if !isRetried(r.Method, failed) || attempt == t.o.Attempts-1 {
			break
		}
		if failed.Code != RateLimited { // the gate delays those
			if err := t.o.Sleep(r.Context(), drawBackoff(attempt)); err != nil {
				return nil, err
			}
		}
	}
	return nil, last
}

// isRetried reports whether a request may be sent again.
func isRetried(method string, e *Error) bool {
	switch e.Code {
	case RateLimited:
		return true
	case Unreachable, Timeout, HostFailed:
		return method == http.MethodGet || method == http.MethodHead
	}
	return false
}

func drawBackoff(attempt int) time.Duration {
	wait := min(minBackoff<<attempt, maxBackoff)
	return wait/2 + rand.N(wait/2+1)
}

// waitForGate waits until requests to the host are allowed.
func (t *Transport) waitForGate(ctx context.Context) error {
	until := t.gate.closedUntil()
	wait := until.Sub(t.o.Now())
	if wait <= 0 {
		return ctx.Err()
	}
	if wait > t.o.MaxWait {
		return newError(RateLimited, 0, "the host takes no requests until "+until.UTC().Format(time.RFC3339), nil)
	}
	t.o.Waiting(until)
	return t.o.Sleep(ctx, wait)
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	return body, errors.Join(err, r.Body.Close())
}

// attempt sends the request once.
func (t *Transport) attempt(r *http.Request, body []byte) (*http.Response, *Error) {
	ctx, cancel := context.WithTimeout(r.Context(), t.o.Timeout)
	defer cancel()
	out := r.Clone(ctx)
	if body != nil {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	var known *cached
	if r.Method == http.MethodGet {
		if known = t.o.Cache.find(r.URL.String()); known != nil {
			out.Header.Set("If-None-Match", known.etag)
		}
	}
	resp, err := t.o.Base.RoundTrip(out)
	if err != nil {
		return nil, t.countFailure(classifyFailure(err))
	}
	text, failed := t.readAnswer(resp)
	if failed != nil {
		return nil, t.countFailure(failed)
	}
	return t.judgeAnswer(r, resp, text, known)
}

func (t *Transport) countFailure(e *Error) *Error {
	t.o.Observe(string(e.Code))
	return e
}

func (t *Transport) readAnswer(resp *http.Response) ([]byte, *Error) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, t.o.MaxBodyBytes+1))
	_ = resp.Body.Close() // the body has been read
	switch {
	case err != nil:
		return nil, classifyFailure(err)
	case int64(len(text)) > t.o.MaxBodyBytes:
		return nil, newError(TooLarge, resp.StatusCode, fmt.Sprintf("the answer has more than %d bytes", t.o.MaxBodyBytes), nil)
	}
	return text, nil
}

// judgeAnswer returns the response for the client, or the Error.
func (t *Transport) judgeAnswer(r *http.Request, resp *http.Response, text []byte, known *cached) (*http.Response, *Error) {
	now := t.o.Now()
	until, refused := readLimit(resp, text, now)
	t.gate.closeUntil(until)
	switch {
	case refused:
		return nil, t.countFailure(newError(RateLimited, resp.StatusCode, string(text), nil))
	case resp.StatusCode == http.StatusNotModified && known != nil:
		text, err := known.decompress()
		if err != nil {
			return nil, t.countFailure(newError(HostFailed, resp.StatusCode, err.Error(), err))
		}
		t.o.Observe("not_modified")
		return newAnswer(r, http.StatusOK, known.header.Clone(), text), nil
	case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.Header.Get("Location") != "":
		return newAnswer(r, resp.StatusCode, resp.Header, text), nil // http.Client follows it
	case resp.StatusCode < 200 || resp.StatusCode >= 300:
		return nil, t.countFailure(classifyStatus(resp, text))
	case len(text) > 0 && !isJSON(resp.Header.Get("Content-Type"), text):
		return nil, t.countFailure(newError(NotJSON, resp.StatusCode, "the answer is no JSON: "+resp.Header.Get("Content-Type"), nil))
	}
	if etag := resp.Header.Get("ETag"); etag != "" && r.Method == http.MethodGet && resp.StatusCode == http.StatusOK {
		t.o.Cache.store(r.URL.String(), etag, resp.Header, text)
	}
	t.o.Observe("ok")
	return newAnswer(r, resp.StatusCode, resp.Header, text), nil
}

// isJSON reports whether a response can be JSON: Gerrit prepends a prefix, and Azure
// DevOps answers 203 with a sign-in page.
func isJSON(contentType string, text []byte) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err == nil && media != "application/json" && !strings.HasSuffix(media, "+json") {
		return false
	}
	return !bytes.HasPrefix(bytes.TrimSpace(text), []byte("<"))
}

func newAnswer(r *http.Request, status int, h http.Header, text []byte) *http.Response {
	h.Set("Content-Length", strconv.Itoa(len(text)))
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: r,
	}
}
