package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/auth"
)

// fromPage sends what a browser would send for a page of an origin.
func fromPage(s http.Handler, method, origin, site string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "https://code.example/api/search", strings.NewReader(`{"query":"x","matches":1}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", origin)
	r.Header.Set("Sec-Fetch-Site", site)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, r)
	return rec
}

func TestOtherOrigins(t *testing.T) {
	const cookie = "quarry_session=qs_1"
	for _, c := range []struct {
		allowed              []string
		origin, site, cookie string
		status               int
		origins, credentials string
	}{
		{nil, "https://code.example", "same-origin", cookie, 200, "", ""},
		{nil, "https://code.example", "", cookie, 200, "", ""},
		{nil, "https://evil.example", "cross-site", "", 403, "", ""},
		{nil, "https://evil.example", "cross-site", cookie, 403, "", ""},
		{nil, "https://sub.code.example", "same-site", cookie, 403, "", ""},
		{[]string{"https://tools.example"}, "https://tools.example", "cross-site", cookie, 200, "https://tools.example", "true"},
		{[]string{"https://tools.example"}, "https://evil.example", "cross-site", "", 403, "", ""},
		{[]string{"*"}, "https://any.example", "cross-site", "", 200, "*", ""},
		{[]string{"*"}, "https://any.example", "cross-site", cookie, 403, "*", ""},
		{[]string{"*", "https://tools.example"}, "https://tools.example", "cross-site", cookie, 200, "https://tools.example", "true"},
	} {
		o := newWorld().serverOptions()
		o.AllowedOrigins = c.allowed
		var header []string
		if c.cookie != "" {
			header = []string{"Cookie", c.cookie}
		}
		rec := fromPage(newServer(t, o), http.MethodPost, c.origin, c.site, header...)
		h := rec.Header()
		if rec.Code != c.status || h.Get("Access-Control-Allow-Origin") != c.origins || h.Get("Access-Control-Allow-Credentials") != c.credentials {
			t.Errorf("a POST from a page, %+v: %d with %v", c, rec.Code, h)
		}
		if exposed := h.Get("Access-Control-Expose-Headers"); (c.origins != "") != strings.Contains(exposed, "RateLimit-Limit") {
			t.Errorf("%+v: exposed %q", c, exposed)
		}
		if (len(c.allowed) > 0) != (h.Get("Vary") == "Origin") {
			t.Errorf("%+v: Vary %q", c, h.Get("Vary"))
		}
	}
}

// TestPagesOfOthersChangeNothing checks that a page of another origin can neither change
// data nor sign in a user, whatever a browser sends for it without a preflight: forms and
// text/plain, with or without cookies, and with the headers of old and new browsers.
func TestPagesOfOthersChangeNothing(t *testing.T) {
	browsers := map[string][]string{
		"fetch metadata":        {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
		"same site":             {"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:9999"},
		"origin only":           {"Origin", "https://evil.example"},
		"an opaque origin":      {"Origin", "null"},
		"a local page":          {"Origin", "http://localhost:3000"},
		"an upper-case origin":  {"Origin", "HTTPS://EVIL.EXAMPLE"},
		"fetch metadata alone":  {"Sec-Fetch-Site", "cross-site"},
		"a session of the user": {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example", "Cookie", auth.CookieName + "=qs_1"},
	}
	for _, allowed := range [][]string{nil, {"https://tools.example"}, {"*"}} {
		w := newWorld() // requests without a credential are the operator's
		o := without429(w.serverOptions())
		o.PublicURL, o.Accounts, o.AllowedOrigins = "http://127.0.0.1:7070", noAccounts(t), allowed
		s := newServer(t, o)
		for _, q := range requestSamples(t) {
			if q.method == http.MethodGet {
				continue
			}
			for name, header := range browsers {
				withCookie := len(header) > 4
				if slices.Contains(allowed, "*") && !withCookie && !startsSession(q) {
					continue // allowed for every page
				}
				for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json"} {
					rec := q.withHeader(header...).sendSample(s, nil, nil, nil, kind)
					checkRefusal(t, fmt.Sprintf("%s as %s by %s, allowed %q", q, kind, name, allowed), rec, http.StatusForbidden, "CROSS_ORIGIN_REQUEST", "")
				}
			}
		}
		if len(w.registered) > 0 {
			t.Errorf("allowed %q: %q", allowed, w.registered)
		}
	}
}

// TestRefusalsGoBeforeTheForm checks that requests that match no route, or are refused,
// get that error regardless of their form.
func TestRefusalsGoBeforeTheForm(t *testing.T) {
	o := newWorld().serverOptions()
	o.Hosts = []string{"code.example"}
	s := newServer(t, o)
	for _, c := range []struct {
		method, target, host, kind string
		status                     int
	}{
		{http.MethodPost, "/api/nothing?a=%zz", "code.example", "text/plain", http.StatusNotFound},
		{http.MethodPut, "/api/search?a=%zz", "code.example", "text/plain", http.StatusMethodNotAllowed},
		{http.MethodPost, "/api/search?a=%zz", "evil.example", "text/plain", http.StatusMisdirectedRequest},
	} {
		r := httptest.NewRequest(c.method, c.target, strings.NewReader("{}"))
		r.Host = c.host
		r.Header.Set("Content-Type", c.kind)
		r.Header.Set("Cookie", auth.CookieName+"=qs_1")
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		if rec.Code != c.status {
			t.Errorf("%s %s at %s with %s: %d %s, want %d", c.method, c.target, c.host, c.kind, rec.Code, rec.Body, c.status)
		}
	}
}

// startsSession reports whether a response may set a session cookie.
func startsSession(q *sample) bool {
	return q.path == "/api/auth/setup" || q.path == "/api/auth/sign_in" || q.path == "/api/invitations/accept"
}

// TestPreflight checks that a preflight, which browsers send before a key, needs no
// credential.
func TestPreflight(t *testing.T) {
	w := closedWorld()
	w.gate.closed = true
	o := w.serverOptions()
	o.AllowedOrigins = []string{"https://tools.example"}
	s := newServer(t, o)
	asks := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type"}
	rec := fromPage(s, http.MethodOptions, "https://tools.example", "cross-site", asks...)
	if h := rec.Header(); rec.Code != 204 || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") ||
		!strings.Contains(h.Get("Access-Control-Allow-Methods"), "DELETE") || h.Get("Access-Control-Max-Age") == "" || rec.Body.Len() > 0 {
		t.Errorf("preflight of an allowed origin: %d with %v and %q, want 204 with methods and headers, and no body", rec.Code, h, rec.Body)
	}
	rec = fromPage(s, http.MethodOptions, "https://evil.example", "cross-site", asks...)
	if rec.Code != 405 || rec.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin: %d %v", rec.Code, rec.Header())
	}
	// The page can read the refusal that follows.
	rec = fromPage(s, http.MethodPost, "https://tools.example", "cross-site")
	if rec.Code != 401 || rec.Header().Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("without a key: %d %v", rec.Code, rec.Header())
	}
}

// TestHosts checks that a page whose name suddenly resolves here is not trusted.
func TestHosts(t *testing.T) {
	o := newWorld().serverOptions()
	o.Hosts = []string{"code.example", "127.0.0.1", "Q.Example:7070"}
	s := newServer(t, o)
	for host, want := range map[string]int{
		"code.example": 200, "CODE.example.": 200, "code.example:443": 200, "q.example:1": 200, "localhost:7070": 200, "quarry": 200, "x.localhost": 200,
		"127.0.0.1:7070": 200, "10.1.2.3:7070": 200, "[::1]:7070": 200, "[fe80::1]": 200, "::1": 200,
		"evil.example": 421, "evil.example:7070": 421, "code.example.evil.example": 421, "127.0.0.1.evil.example": 421, "sub.code.example": 421,
	} {
		for _, path := range []string{"/api/repos", "/healthz", "/readyz", "/api/health"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = host
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, r)
			if path != "/api/repos" {
				want = 200
			}
			if rec.Code != want || want == 421 && !strings.Contains(rec.Body.String(), "MISDIRECTED_REQUEST") {
				t.Errorf("%s of %s: %d %s, want %d", path, host, rec.Code, rec.Body, want)
			}
		}
	}
}

// TestSecureTransport checks that clients that connect by https must keep using it, and
// that other clients get no such header, nor those of a host with other applications.
func TestSecureTransport(t *testing.T) {
	for url, want := range map[string]bool{"https://code.example": true, "https://code.example/": true, "https://tools.example/quarry": false, "http://code.example": false} {
		o := newWorld().serverOptions()
		o.PublicURL = url
		rec := sendRequest(newServer(t, o), "GET", "/api/version", "", "")
		if got := rec.Header().Get("Strict-Transport-Security"); (got != "") != want {
			t.Errorf("Strict-Transport-Security of %s: %q, want one: %v", url, got, want)
		}
	}
}

func TestAllowedOriginsAreChecked(t *testing.T) {
	for _, origin := range []string{"tools.example", "https://tools.example/path", ""} {
		o := newWorld().serverOptions()
		o.AllowedOrigins = []string{origin}
		if _, err := api.New(o); err == nil {
			t.Errorf("%q was taken", origin)
		}
	}
}
