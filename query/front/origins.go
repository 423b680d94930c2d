package front

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// anyOrigin is the wildcard for allowed origins.
const anyOrigin = "*"

// Headers that pages of other origins may send and read.
const (
	sharedMethods  = "GET, HEAD, POST, PUT, PATCH, DELETE"
	sharedHeaders  = "Authorization, Content-Type, X-Service-Api-Key, X-Sourcebot-Api-Key, X-Request-Id, X-Quarry-Client-Source, X-Sourcebot-Client-Source, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-Id"
	exposedHeaders = "Link, X-Total-Count, X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, WWW-Authenticate, Mcp-Session-Id"
	// preflightAge is how many seconds a browser may cache a preflight response.
	preflightAge = "600"
)

// configureOrigins configures what checkOrigin uses.
func (f *Front) configureOrigins() error {
	f.origins = http.NewCrossOriginProtection()
	for _, origin := range append([]string{f.publicOrigin()}, f.o.AllowedOrigins...) {
		if origin == anyOrigin {
			continue
		}
		if err := f.origins.AddTrustedOrigin(origin); err != nil {
			return fmt.Errorf("allowed origins: %w", err)
		}
	}
	f.origins.SetDenyHandler(f.Refuse(ErrCrossOrigin))
	return nil
}

// publicOrigin returns the scheme and host of the public URL, which has been validated.
func (f *Front) publicOrigin() string {
	u, _ := url.Parse(f.o.PublicURL)
	return u.Scheme + "://" + u.Host
}

// withCORS answers browsers that ask whether a page of another origin may read responses
// (CORS). Without allowed origins it does nothing, and no other origin may.
func (f *Front) withCORS(next http.Handler) http.Handler {
	if len(f.o.AllowedOrigins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		if !f.allowOrigin(h, r.Header.Get("Origin")) {
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
		w.WriteHeader(http.StatusNoContent)
	})
}

// allowOrigin sets which origin may read the response. Cookies are allowed only for named
// origins: "*" would give every page the session of its visitor.
func (f *Front) allowOrigin(h http.Header, origin string) bool {
	switch {
	case origin == "":
		return false
	case slices.Contains(f.o.AllowedOrigins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		return true
	case slices.Contains(f.o.AllowedOrigins, anyOrigin):
		h.Set("Access-Control-Allow-Origin", anyOrigin)
		return true
	}
	return false
}

// checkOrigin refuses requests that may change something and come from a page of another
// origin. It also checks requests without a cookie: a server on loopback trusts callers
// by address, and a page runs on that machine. Even if every origin is allowed, it checks
// requests that carry a session, and requests for which ownOrigin returns true: a page
// must not sign its reader in as another user.
func (f *Front) checkOrigin(next http.Handler, ownOrigin func(*http.Request) bool) http.Handler {
	checked := f.origins.Handler(next)
	if !slices.Contains(f.o.AllowedOrigins, anyOrigin) {
		return checked
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hasCookie(r) || ownOrigin(r) {
			checked.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mayBeginSession reports whether r may sign its sender in.
func (f *Front) mayBeginSession(r *http.Request) bool {
	return slices.Contains(f.o.SignInPaths, r.URL.Path)
}
