package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// anyOrigin is the allowed origin that means all.
const anyOrigin = "*"

// What pages of other origins may send and see.
const (
	sharedMethods  = "GET, HEAD, POST, PUT, PATCH, DELETE"
	sharedHeaders  = "Authorization, Content-Type, X-Service-Api-Key, X-Sourcebot-Api-Key, X-Request-Id, X-Quarry-Client-Source, X-Sourcebot-Client-Source, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-Id"
	exposedHeaders = "Link, X-Total-Count, X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, WWW-Authenticate, Mcp-Session-Id"
	// preflightAge is how many seconds a browser need not ask again.
	preflightAge = "600"
)

// noDeadline lifts a deadline.
var noDeadline time.Time

// withCORS answers browsers that ask whether a page of another origin may read
// answers (CORS). Without allowed origins it does nothing, and none may.
func (s *Server) withCORS(next http.Handler) http.Handler {
	if len(s.o.AllowedOrigins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		if !s.allowOrigin(h, r.Header.Get("Origin")) {
			next.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			h.Set("Access-Control-Expose-Headers", exposedHeaders)
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", sharedMethods)
		h.Set("Access-Control-Allow-Headers", sharedHeaders)
		h.Set("Access-Control-Max-Age", preflightAge)
		exchangeOf(r).status = http.StatusNoContent
		w.WriteHeader(http.StatusNoContent)
	})
}

// allowOrigin says which origin may read the response. Cookies are allowed only for
// named origins: "*" would give every page the session of its visitor.
func (s *Server) allowOrigin(h http.Header, origin string) bool {
	switch {
	case origin == "":
		return false
	case slices.Contains(s.o.AllowedOrigins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		return true
	case slices.Contains(s.o.AllowedOrigins, anyOrigin):
		h.Set("Access-Control-Allow-Origin", anyOrigin)
		return true
	}
	return false
}

// checkOrigin refuses requests that may change something and come from a page of
// another origin. It checks requests without a cookie, too: a server on loopback
// trusts callers by address, and a page runs on that machine. If every origin is
// allowed, it still checks requests that carry a session or may begin one: a page
// must not sign its reader in as another user.
func (s *Server) checkOrigin(next http.Handler) http.Handler {
	checked := s.origins.Handler(next)
	if !slices.Contains(s.o.AllowedOrigins, anyOrigin) {
		return checked
	}
	open := map[string]bool{}
	for _, rt := range s.routeTable() {
		if rt.isOpen() && rt.method != http.MethodGet {
			open[rt.path] = true
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hasCookie(r) || open[r.URL.Path] {
			checked.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// probes accept any host name.
var probes = []string{"/healthz", "/readyz", "/api/health"}

// checkHost refuses requests for a name that is not the server's: a page whose name
// suddenly leads to this machine (DNS rebinding) would be of the same origin as
// the API. Addresses, and names without a dot, cannot be such a page's.
func (s *Server) checkHost(next http.Handler) http.Handler {
	if s.hosts == nil {
		return next
	}
	refuse := s.errorHandler(errHost)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(probes, r.URL.Path) || s.isKnownHost(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		refuse.ServeHTTP(w, r)
	})
}

func (s *Server) isKnownHost(host string) bool {
	name := hostName(host)
	if !strings.Contains(name, ".") || s.hosts[name] || strings.HasSuffix(name, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// hostName returns a host without its port, in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// hostSet returns the names, nil for none.
func hostSet(hosts []string) map[string]bool {
	if hosts == nil {
		return nil
	}
	set := make(map[string]bool, len(hosts))
	for _, h := range hosts {
		set[hostName(h)] = true
	}
	return set
}
