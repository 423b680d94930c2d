package publicurl

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// URL is the address at which people reach the server. The zero value is the root of a
// host that is reached by http.
type URL struct {
	origin string // scheme and host
	path   string // such as /quarry; empty at the root of the host
}

// maxPathBytes bounds the path: it is part of every address on a page.
const maxPathBytes = 200

// pathPattern matches the paths that are the same escaped and not escaped, in a header, in
// a cookie and in HTML.
var pathPattern = regexp.MustCompile(`^(/[0-9A-Za-z_~-][0-9A-Za-z._~-]*)+$`)

// reserved are the first elements of the server's own paths. TestReserved in
// cmd/quarry/internal/server compares them with the routes.
var reserved = []string{
	"admin", "api", "auth", "browse", "debug", "deliveries", "find", "healthz", "invite", "metrics", "opensearch.xml", "preferences", "readyz",
	"repos", "reset-password", "saved", "search", "settings", "setup", "shortcuts", "sign-in", "sign-out", "static", "symbols", "syntax",
	"webhooks", "welcome", "why", "~",
}

// IsReserved reports whether an element is the first one of some of the server's own paths.
func IsReserved(element string) bool { return slices.Contains(reserved, element) }

// Parse parses the setting publicUrl. Its errors say what to write instead.
func Parse(text string) (URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return URL{}, fmt.Errorf("%q is no http or https URL, such as https://code.example.com", text)
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case u.User != nil:
		return URL{}, errors.New("the URL has a user or a password: remove them")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return URL{}, errors.New("the URL has a query or a fragment: remove them")
	case path != "" && !pathPattern.MatchString(path) || len(path) > maxPathBytes:
		return URL{}, fmt.Errorf("the path %.80q is not supported: use at most %d letters, digits, dashes, underscores and dots, such as /quarry", path, maxPathBytes)
	case IsReserved(first):
		return URL{}, fmt.Errorf("the path %.80q begins like one of Quarry's own pages (/%s): choose another one, such as /quarry", path, first)
	}
	return URL{origin: u.Scheme + "://" + u.Host, path: path}, nil
}

// String returns the URL without a trailing slash.
func (u URL) String() string { return u.origin + u.path }

// Origin returns the scheme and the host.
func (u URL) Origin() string { return u.origin }

// Path returns the path below the host, without a trailing slash; it is empty at the root.
func (u URL) Path() string { return u.path }

// IsSecure reports whether people reach the server by https.
func (u URL) IsSecure() bool { return strings.HasPrefix(u.origin, "https:") }

// Resolve returns where an address leads for a browser: it adds the path to an address of
// this server that begins with a slash, unless it has it already. Other addresses, such as
// those of code hosts, stay.
func (u URL) Resolve(address string) string {
	if u.path == "" || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") {
		return address
	}
	if rest, ok := strings.CutPrefix(address, u.path); ok && (rest == "" || strings.Contains("/?#", rest[:1])) {
		return address
	}
	return u.path + address
}

// Prefixes of the names of cookies. Browsers accept the first two only by https, so that an
// attacker in the network cannot plant one, and the first only for a whole host, so that
// another host of the domain cannot either. pathPrefix keeps the cookies of a server below a path apart
// from those of a server at the root of its host, which browsers send as well.
const (
	hostPrefix   = "__Host-"
	securePrefix = "__Secure-"
	pathPrefix   = "path_"
)

// CookieName returns the name of a cookie.
func (u URL) CookieName(name string) string {
	switch {
	case u.IsSecure() && u.path == "":
		return hostPrefix + name
	case u.IsSecure():
		return securePrefix + name
	case u.path != "":
		return pathPrefix + name
	}
	return name
}

// CookieNames returns every name that a cookie may have.
func CookieNames(name string) []string {
	return []string{hostPrefix + name, securePrefix + name, pathPrefix + name, name}
}

// CookiePath returns the path below which browsers send cookies.
func (u URL) CookiePath() string {
	if u.path == "" {
		return "/"
	}
	return u.path
}

// Handler returns a handler that serves next below the path. A request whose path lacks it
// is served as well: it comes from a proxy that removes the path, from a program on this
// machine, or from a health check.
func (u URL) Handler(next http.Handler) http.Handler {
	if u.path == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&responseWriter{ResponseWriter: w, url: u}, u.withoutPath(r))
	})
}

// withoutPath returns r with the path of an address at the root of a host.
func (u URL) withoutPath(r *http.Request) *http.Request {
	path, hasPath := strings.CutPrefix(r.URL.Path, u.path)
	raw, hasRaw := strings.CutPrefix(r.URL.RawPath, u.path)
	if !hasPath || path != "" && path[0] != '/' || r.URL.RawPath != "" && (!hasRaw || raw == "" || raw[0] != '/') {
		return r
	}
	if path == "" {
		path = "/"
	}
	out := new(http.Request)
	*out = *r
	out.URL = new(url.URL)
	*out.URL = *r.URL
	out.URL.Path, out.URL.RawPath = path, raw
	return out
}

// responseWriter adds the path to the addresses in the header of a response.
type responseWriter struct {
	http.ResponseWriter
	url     URL
	written bool
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	if !w.written && status >= http.StatusOK { // an informational response comes before the final one
		w.written = true
		h := w.Header()
		if to := h.Get("Location"); to != "" {
			h.Set("Location", w.url.Resolve(to))
		}
		for i, links := range h["Link"] {
			h["Link"][i] = strings.ReplaceAll(links, "</", "<"+w.url.path+"/")
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(b []byte) (int, error) {
	if !w.written {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap returns what http.ResponseController flushes and bounds.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
