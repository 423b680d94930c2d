package server

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/tail"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// limitsOf returns the limits of the API: there, less than 0 is none.
func limitsOf(c *config.Limits) api.Limits {
	return api.Limits{
		PerSecond: cmp.Or(c.PerSecond, -1), Burst: c.Burst,
		AnonymousPerSecond: cmp.Or(c.AnonymousPerSecond, -1), AnonymousBurst: c.AnonymousBurst,
		Streams: cmp.Or(c.Streams, -1),
	}
}

// withClientAddresses is what every request to the main listener passes first.
func (s *Server) withClientAddresses(next http.Handler) http.Handler {
	return boot.ClientAddresses(s.o.Config.Proxies(), next)
}

// newEventsHandler serves the log to those who administer the instance; in a process that
// knows no accounts, to its operator.
func (s *Server) newEventsHandler() (http.Handler, error) {
	h := tail.Handler(s.log, s.o.Logger)
	if s.api != nil {
		return s.api.OwnersOnly("/admin/events", audit.ReadOperations, h), nil
	}
	token, err := operatorToken(s.o)
	if err != nil {
		return nil, err
	}
	return operatorOnly(token, h), nil
}

// operatorOnly lets requests in that carry the token of the data directory.
func operatorOnly(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("WWW-Authenticate", `Bearer realm="quarry"`)
		w.WriteHeader(http.StatusUnauthorized)
		// A client that has gone needs no answer.
		_, _ = w.Write([]byte(`{"statusCode":401,"errorCode":"NOT_AUTHENTICATED","message":"not authenticated: this process knows no accounts; send the token of its data directory"}` + "\n"))
	})
}
