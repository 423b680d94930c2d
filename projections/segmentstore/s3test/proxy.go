package s3test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// Fault changes one response of the server. It is called for each request, and reports
// whether it has answered in place of the server.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// Proxy passes requests to a Server, and injects a fault into some.
type Proxy struct {
	// Endpoint is its URL.
	Endpoint string

	mu struct {
		sync.Mutex
		fault Fault
		body  func([]byte) []byte
	}
}

// NewProxy returns a proxy in front of s, which ends with the test.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	p := &Proxy{}
	target, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		// The signature of a request contains the host, so it stays.
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Host = r.In.Host
		},
		ModifyResponse: p.changeBody,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		fault := p.mu.fault
		p.mu.Unlock()
		if fault != nil && fault(w, r) {
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.Endpoint = server.URL
	return p
}

// Inject injects a fault from now on; nil ends it.
func (p *Proxy) Inject(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.fault = f
}

// ChangeBodies passes the bodies of answered downloads through change from now on; nil ends
// it. A shorter result is a truncated body.
func (p *Proxy) ChangeBodies(change func([]byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.body = change
}

func (p *Proxy) changeBody(r *http.Response) error {
	p.mu.Lock()
	change := p.mu.body
	p.mu.Unlock()
	if change == nil || r.Request.Method != http.MethodGet || r.StatusCode != http.StatusOK {
		return nil
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Length", strconv.Itoa(len(b)))
	r.Body = io.NopCloser(bytes.NewReader(change(b)))
	return nil
}

// Refuse answers the first n requests with a status and an error code of S3.
func Refuse(n, status int, code string) Fault {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 {
			return false
		}
		n--
		_, _ = io.Copy(io.Discard, r.Body) // the client may have hung up
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>injected</Message></Error>")
		return true
	}
}

// Reset closes the connections of the first n requests without an answer.
func Reset(n int) Fault {
	var mu sync.Mutex
	return func(http.ResponseWriter, *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 {
			return false
		}
		n--
		panic(http.ErrAbortHandler)
	}
}
