package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestOpenRedirect signs in with paths that a browser might interpret as another site.
func TestOpenRedirect(t *testing.T) {
	w := newWorld(t, nil)
	w.setUp()
	ours, err := url.Parse(w.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"https://evil.test/", "//evil.test", "///evil.test", `/\evil.test`, `\\evil.test`, `\/evil.test`, "/\t/evil.test", "/\n/evil.test", "\t//evil.test",
		" //evil.test", "javascript:alert(1)", "data:text/html,x", "evil.test", "//evil.test/%2f..", "/%2f/evil.test", "/%5cevil.test", "/%09/evil.test",
		"/..//evil.test", "/.//evil.test", "/x/..//evil.test", "/;@evil.test", "/ä", "/@evil.test", "//user@evil.test", "https:evil.test", "/" + strings.Repeat("x", 600),
	} {
		b := w.newBrowser()
		b.get("/sign-in?return="+url.QueryEscape(path)).submitForm("/sign-in", "", "email=ada@example.com", "password="+password)
		if b.status != http.StatusSeeOther {
			t.Fatalf("%q: %d", path, b.status)
		}
		location := b.header.Get("Location")
		to, err := ours.Parse(location)
		if err != nil || to.Host != ours.Host || to.Scheme != ours.Scheme {
			t.Errorf("%q leads to %q", path, location)
		}
		if !strings.HasPrefix(location, "/") || len(location) > 1 && strings.ContainsAny(location[1:2], `/\`) || strings.ContainsAny(location, "\\\t\n") {
			t.Errorf("%q leads to %q, which a browser may take for another site", path, location)
		}
	}
	// The same paths typed into the form, and paths of our own.
	for path, want := range map[string]string{
		"//evil.test": "/", "/settings/keys?a=b#c": "/settings/keys?a=b#c", "/browse/a%20b@v1/-/blob/c.go": "/browse/a%20b@v1/-/blob/c.go", "": "/",
	} {
		b := w.newBrowser()
		b.get("/sign-in").postForm("/sign-in", url.Values{"email": {"ada@example.com"}, "password": {password}, "return": {path}})
		if got := b.header.Get("Location"); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}
