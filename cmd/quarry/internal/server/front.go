package server

import (
	"cmp"
	"net/http"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/tail"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// limitsOf returns the limits of the API: there, less than 0 is none.
func limitsOf(c *config.Limits) front.Limits {
	return front.Limits{
		PerSecond: cmp.Or(c.PerSecond, -1), Burst: c.Burst,
		AnonymousPerSecond: cmp.Or(c.AnonymousPerSecond, -1), AnonymousBurst: c.AnonymousBurst,
		Streams: cmp.Or(c.Streams, -1),
	}
}

// withClientAddresses is what every request to the main listener passes first.
func (s *Server) withClientAddresses(next http.Handler) http.Handler {
	return front.ClientAddresses(s.o.Config.Proxies(), next)
}

// newEventsHandler serves the log to those who administer the instance; in a process that
// knows no accounts, to its operator.
func (s *Server) newEventsHandler() (http.Handler, error) {
	h := tail.Handler(s.log, s.o.Logger)
	if s.api != nil {
		return s.api.Front().OwnersOnly("/admin/events", audit.ReadOperations, h), nil
	}
	token, err := secrets.ReadOperatorToken(s.o.Config, s.o.Logger)
	if err != nil {
		return nil, err
	}
	return front.OperatorOnly(token, h), nil
}
