package operator

import (
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/quarrysearch/quarry/schemas/network"
)

// FileName is the file of the token in a data directory.
const FileName = "operator.token"

// SetupFileName is the file of the link that makes the first owner, in the data
// directory of a server that has none.
const SetupFileName = "setup.link"

// Bounds of the files.
const (
	maxTokenBytes = 256
	maxLinkBytes  = 4096
)

// Token returns the token of the data directory dir; empty if there is none, or
// none that this process may read.
func Token(dir string) string { return readLine(filepath.Join(dir, FileName), maxTokenBytes) }

// SetupLink returns the link that makes the first owner of the server of the data
// directory dir; empty if it has an owner, does not run, or is another user's.
func SetupLink(dir string) string {
	return readLine(filepath.Join(dir, SetupFileName), maxLinkBytes)
}

// readLine returns what a file holds; empty if it cannot be read.
func readLine(path string, limit int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // nothing was written
	b := make([]byte, limit)
	n, _ := f.Read(b) // nothing read is nothing there
	return strings.TrimSpace(string(b[:n]))
}

// Local reports whether a URL leads to this machine by its very address: a name
// could lead anywhere.
func Local(u *url.URL) bool {
	host := u.Hostname()
	a, err := netip.ParseAddr(host)
	return network.IsLoopback(host) || err == nil && a.IsUnspecified()
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
	if token := t.loadToken(); token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return next.RoundTrip(r)
}

func (t *Transport) loadToken() string {
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
