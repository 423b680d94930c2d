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

// FileName is the name of the token's file in a data directory.
const FileName = "operator.token"

// SetupFileName is the file with the link that creates the first owner, in the data
// directory of a server without an owner.
const SetupFileName = "setup.link"

// These are the bounds of the files.
const (
	maxTokenBytes = 256
	maxLinkBytes  = 4096
)

// Token returns the token in the data directory dir, or an empty string if there is no
// token that this process may read.
func Token(dir string) string { return readLine(filepath.Join(dir, FileName), maxTokenBytes) }

// SetupLink returns the link that creates the first owner of a server, from its data
// directory dir. It returns an empty string if the server has an owner or is not running,
// or if this process may not read the link.
func SetupLink(dir string) string {
	return readLine(filepath.Join(dir, SetupFileName), maxLinkBytes)
}

// readLine returns the content of a file, up to limit bytes, without surrounding white
// space. It returns an empty string if the file cannot be read.
func readLine(path string, limit int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // opened only for reading
	b := make([]byte, limit)
	n, _ := f.Read(b) // an error counts as an empty file
	return strings.TrimSpace(string(b[:n]))
}

// Local reports whether the host of a URL is localhost, or a loopback or unspecified
// address of this machine. Other host names do not count: they could lead anywhere.
func Local(u *url.URL) bool {
	host := u.Hostname()
	a, err := netip.ParseAddr(host)
	return network.IsLoopback(host) || err == nil && a.IsUnspecified()
}

// Transport adds the token in the data directory Dir to requests to this machine that
// have no credential.
type Transport struct {
	Dir string
	// Next sends the requests; nil means http.DefaultTransport.
	Next http.RoundTripper

	token atomic.Pointer[string] // set once a token was read: the token of a directory never changes
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

// Client returns a client that authenticates as the operator of the data directory dir.
func Client(dir string) *http.Client { return &http.Client{Transport: &Transport{Dir: dir}} }
