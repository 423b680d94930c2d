package pictures

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/lru"
)

// Bounds of a Loader.
const (
	// MaxBytes bounds one picture. Code hosts accept pictures of at most 1 MiB.
	MaxBytes = 1 << 20
	// maxKeptBytes bounds the total size of cached pictures.
	maxKeptBytes = 32 << 20
	// entryBytes is the size charged for an entry in addition to its bytes.
	entryBytes = 4 << 10
	// keepTime is how long a picture is served without another request, retryTime the
	// same for a failure.
	keepTime, retryTime = 6 * time.Hour, 10 * time.Minute
	// maxRequests bounds concurrent requests.
	maxRequests = 8
	// defaultTimeout bounds a request, including redirects and body.
	defaultTimeout = 5 * time.Second
	maxRedirects   = 3
)

// pictureTypes are the types that browsers decode without executing anything.
var pictureTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// Options configures a Loader. Dial and Connection are required.
type Options struct {
	// Dial opens connections to hosts and checks their addresses.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Connection returns a connection of the current settings.
	Connection func(name string) (discovery.Connection, error)
	// Timeout bounds a request. Default: 5 s.
	Timeout    time.Duration
	Now        func() time.Time
	Registerer prometheus.Registerer
}

// Loader fetches and caches pictures. See the package comment.
type Loader struct {
	o       Options
	slots   chan struct{}
	metrics *metrics
	mu      struct {
		sync.Mutex
		kept *lru.Cache[pictureKey, picture]
	}
}

// pictureKey identifies a picture. It includes the connection, whose proxy and
// certificate authorities may affect the response.
type pictureKey struct{ connection, url string }

// picture is the result for a URL: its bytes, or the error.
type picture struct {
	body  []byte
	kind  string // Content-Type
	err   error
	until time.Time
}

// New returns a Loader.
func New(o Options) (*Loader, error) {
	if o.Dial == nil || o.Connection == nil {
		return nil, errors.New("pictures: Dial and Connection are required")
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Loader{o: o, slots: make(chan struct{}, maxRequests), metrics: newMetrics(o.Registerer)}
	l.mu.kept = lru.New[pictureKey, picture](maxKeptBytes)
	return l, nil
}

// Load returns the picture of a repository and its Content-Type, within twice
// Options.Timeout. An error wraps code.ErrNotFound, or that of a context if the result is
// unknown.
func (l *Loader) Load(ctx context.Context, r *code.Repository) (body []byte, contentType string, err error) {
	if r.ImageURL == "" {
		return nil, "", fmt.Errorf("image of the repository: %w", code.ErrNotFound)
	}
	key := pictureKey{r.Connection, r.ImageURL}
	if p, ok := l.findKept(key); ok {
		return p.body, p.kind, p.err
	}
	waiting, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-waiting.Done():
		return nil, "", fmt.Errorf("%d other pictures are being fetched: %w", maxRequests, waiting.Err())
	}
	if p, ok := l.findKept(key); ok { // another request has loaded it in the meantime
		return p.body, p.kind, p.err
	}
	p := l.fetchPicture(ctx, key)
	if err := ctx.Err(); err != nil {
		return nil, "", err // the caller canceled, which says nothing about the picture
	}
	l.keepPicture(key, p)
	return p.body, p.kind, p.err
}

func (l *Loader) findKept(key pictureKey) (picture, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.mu.kept.Get(key)
	return p, ok && l.o.Now().Before(p.until)
}

func (l *Loader) keepPicture(key pictureKey, p picture) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.kept.Put(key, p, int64(len(p.body)+entryBytes))
}

// fetchPicture fetches a picture. If that fails, the picture holds the error.
func (l *Loader) fetchPicture(ctx context.Context, key pictureKey) picture {
	ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	body, err := l.fetchBody(ctx, key)
	kind := http.DetectContentType(body)
	if err == nil && !pictureTypes[kind] {
		err = fmt.Errorf("it is %s; want PNG, JPEG, GIF or WebP", kind)
	}
	if err != nil {
		l.metrics.loads.WithLabelValues("failed").Inc()
		return picture{err: fmt.Errorf("picture of the repository: %w: %w", code.ErrNotFound, err), until: l.o.Now().Add(retryTime)}
	}
	l.metrics.loads.WithLabelValues("ok").Inc()
	return picture{body: body, kind: kind, until: l.o.Now().Add(keepTime)}
}

func (l *Loader) fetchBody(ctx context.Context, key pictureKey) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, key.url, nil)
	if err != nil {
		return nil, err
	}
	client, err := l.newClient(key.connection, request.URL)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "image/png, image/jpeg, image/gif, image/webp")
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxBytes+1))
	_ = answer.Body.Close() // the body has been read
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the host answers %d", answer.StatusCode)
	case len(body) > MaxBytes:
		return nil, fmt.Errorf("it has more than %d bytes", MaxBytes)
	}
	return body, nil
}

// newClient returns the client for a picture. It uses the proxy and certificate
// authorities of the connection only for pictures on its host. It does not keep
// connections open, because requests are rare.
func (l *Loader) newClient(connection string, at *url.URL) (*http.Client, error) {
	transport := &http.Transport{
		DialContext: l.o.Dial, DisableKeepAlives: true, TLSHandshakeTimeout: l.o.Timeout, MaxResponseHeaderBytes: 64 << 10,
		Proxy: nil, // not the environment's, which would resolve names without the guard
	}
	c, err := l.o.Connection(connection)
	onHost := err == nil && isOnHost(&c, at) // a manually registered repository has no connection
	if onHost {
		o, err := discovery.TransportOptions(&c)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: o.RootCAs}
		if o.Proxy != nil {
			transport.Proxy, transport.DialContext = http.ProxyURL(o.Proxy), nil
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case len(via) > maxRedirects:
			return fmt.Errorf("it redirects more than %d times", maxRedirects)
		case onHost && (r.URL.Host != at.Host || r.URL.Scheme != at.Scheme):
			return fmt.Errorf("it redirects from %s to another host", at.Host)
		case r.URL.Scheme != at.Scheme && r.URL.Scheme != "https":
			return errors.New("it redirects to plain HTTP")
		}
		return nil
	}}, nil
}

// isOnHost reports whether a URL is on the configured host of a connection.
func isOnHost(c *discovery.Connection, at *url.URL) bool {
	base, err := url.Parse(c.URL)
	return err == nil && base.Host != "" && base.Scheme == at.Scheme && base.Host == at.Host
}
