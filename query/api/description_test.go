package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

// TestDescriptionIsOfThisServer checks that the description names this server, and is
// sent once.
func TestDescriptionIsOfThisServer(t *testing.T) {
	s := newServer(t, newWorld().serverOptions())
	get := func(tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/api/openapi.json", nil)
		r.Header.Set("If-None-Match", tag)
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		return rec
	}
	rec := get("")
	var d openapi.Document
	if err := json.Unmarshal(rec.Body.Bytes(), &d); err != nil || len(d.Servers) != 1 || d.Servers[0].URL != "https://code.example" {
		t.Errorf("servers %v, %v", d.Servers, err)
	}
	if name := d.Components.SecuritySchemes.Get("sessionCookie").Name; name != "__Host-quarry_session" {
		t.Errorf("the session cookie of a server by https is %s, want __Host-quarry_session", name)
	}
	tag := rec.Header().Get("ETag")
	for _, given := range []string{tag, "W/" + tag, `"x", ` + tag} {
		if rec := get(given); rec.Code != http.StatusNotModified || rec.Body.Len() != 0 || rec.Header().Get("ETag") != tag {
			t.Errorf("%s: %d, %d bytes", given, rec.Code, rec.Body.Len())
		}
	}
}

// TestDescriptionsAreCompressed checks that browsers get the page in gzip, within its budget, and
// that its two encodings have two tags. A cache keeps them apart, and those for other origins.
func TestDescriptionsAreCompressed(t *testing.T) {
	o := newWorld().serverOptions()
	o.AllowedOrigins = []string{"https://tools.example"}
	s := newServer(t, o)
	get := func(encoding string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/api/docs", nil)
		r.Header.Set("Accept-Encoding", encoding)
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		return rec
	}
	plain, packed := get("gzip;q=0"), get("br, gzip")
	if most := 80 << 10; packed.Body.Len() > most || packed.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("%d bytes with %v, want at most %d in gzip", packed.Body.Len(), packed.Header(), most)
	}
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(text, plain.Body.Bytes()) {
		t.Errorf("the two encodings differ: %d and %d bytes, %v", len(text), plain.Body.Len(), err)
	}
	if tag := plain.Header().Get("ETag"); tag == "" || tag == packed.Header().Get("ETag") || !slices.Equal(packed.Header()["Vary"], []string{"Accept-Encoding, Origin"}) {
		t.Errorf("tags %s and %s, %v", tag, packed.Header().Get("ETag"), packed.Header())
	}
}

// TestPageHasItsPolicy checks that the page may be displayed, but may not run anything.
func TestPageHasItsPolicy(t *testing.T) {
	rec := httptest.NewRecorder()
	newServer(t, newWorld().serverOptions()).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/api/docs", nil))
	policy := rec.Header().Get("Content-Security-Policy")
	if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "text/html; charset=utf-8" || rec.Header().Get("ETag") == "" {
		t.Errorf("GET /api/docs: %d with %v, want 200, HTML and an ETag", rec.Code, rec.Header())
	}
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
}
