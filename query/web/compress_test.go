package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// requestEncoded requests a page as the browser of the world does, with more headers.
func (b *browser) requestEncoded(path string, headers ...string) *http.Response {
	b.w.t.Helper()
	r, err := http.NewRequestWithContext(b.w.t.Context(), http.MethodGet, b.w.server.URL+path, http.NoBody)
	if err != nil {
		b.w.t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := b.client.Do(r)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return response
}

// TestCompressedPages compares the compressed page with the plain one, and checks that
// responses to requests from another site are not compressed.
func TestCompressedPages(t *testing.T) {
	w := searchOf(t, 20, nil)
	now := time.Now()
	w.now = func() time.Time { return now } // the page shows how long the search took
	b := w.setUp()
	for _, path := range []string{"/search?q=kettle", "/settings/members", "/syntax"} {
		plain, _ := io.ReadAll(b.requestEncoded(path, "Sec-Fetch-Site", "cross-site").Body)
		for _, site := range []string{"same-origin", "none", ""} {
			response := b.requestEncoded(path, "Sec-Fetch-Site", site)
			if response.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(strings.Join(response.Header.Values("Vary"), ", "), "Accept-Encoding, Sec-Fetch-Site") {
				t.Fatalf("%s from %q: %v", path, site, response.Header)
			}
			packed, _ := io.ReadAll(response.Body)
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			page, err := io.ReadAll(z)
			if err != nil || len(page) == 0 || len(page) != len(plain) || len(packed)*2 > len(plain) {
				t.Errorf("%s from %q: %d bytes in %d, %v; plain %d", path, site, len(page), len(packed), err, len(plain))
			}
		}
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "x"}, {"Accept-Encoding", "identity"}, {"Accept-Encoding", "gzip;q=0"}} {
			if response := b.requestEncoded(path, headers...); response.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s is compressed for %v", path, headers)
			}
		}
	}
}

// TestMaskedTokens checks that tokens of two addresses have nothing in common and are
// valid for the same forms, and that no page contains the token itself.
func TestMaskedTokens(t *testing.T) {
	w := newWorld(t, nil)
	b := w.setUp()
	first := formTokenOf(b.get("/settings/profile?x=1"))
	if again := formTokenOf(b.get("/settings/profile?x=1")); again != first {
		t.Error("the page of one address is not the same twice")
	}
	second := formTokenOf(b.get("/settings/profile?x=2"))
	x, err := hex.DecodeString(first)
	y, err2 := hex.DecodeString(second)
	if err != nil || err2 != nil || len(x) != 64 || len(y) != 64 {
		t.Fatalf("tokens %q and %q", first, second)
	}
	for i := range x {
		if i+4 <= len(x) && bytes.Contains(y, x[i:i+4]) {
			t.Errorf("%q and %q have bytes in common", first, second)
		}
	}
	for token, want := range map[string]int{first: http.StatusSeeOther, second: http.StatusSeeOther, first[:64]: http.StatusForbidden, second[64:]: http.StatusForbidden, first[:64] + second[64:]: http.StatusForbidden, "": http.StatusForbidden, strings.Repeat("0", 128): http.StatusForbidden} {
		b.postForm("/settings/profile", map[string][]string{"csrf": {token}, "name": {"Ada"}})
		if b.status != want {
			t.Errorf("token %q: %d, want %d", token, b.status, want)
		}
	}
}
