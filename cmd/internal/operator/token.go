package operator

import (
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// FileName is the file of the token in a data directory.
const FileName = "operator.token"

// maxTokenBytes bounds the file.
const maxTokenBytes = 256

// Token returns the token of the data directory dir; empty if there is none, or
// none that this process may read.
func Token(dir string) string {
	f, err := os.Open(filepath.Join(dir, FileName))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // nothing was written
	b := make([]byte, maxTokenBytes)
	n, _ := f.Read(b) // what is not there is no token
	return strings.TrimSpace(string(b[:n]))
}

// Local reports whether a URL leads to this machine by its very address: a name
// could lead anywhere.
func Local(u *url.URL) bool {
	host := u.Hostname()
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (a.Unmap().IsLoopback() || a.IsUnspecified())
}

// Transport adds the token of the data directory Dir to requests to this machine
// that carry no credential.
type Transport struct {
	Dir string
	// Next sends the requests; nil is http.DefaultTransport.
	Next http.RoundTripper

	token atomic.Pointer[string] // once there is one: it stays with its directory
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.Next
	if next == nil {
		next = http.DefaultTransport
	}
	if r.Header.Get("Authorization") != "" || !Local(r.URL) {
		return next.RoundTrip(r)
	}
	if token := t.read(); token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return next.RoundTrip(r)
}

func (t *Transport) read() string {
	if token := t.token.Load(); token != nil {
		return *token
	}
	token := Token(t.Dir)
	if token != "" {
		t.token.Store(&token)
	}
	return token
}

// Client returns a client that is the operator of the data directory dir.
func Client(dir string) *http.Client { return &http.Client{Transport: &Transport{Dir: dir}} }
