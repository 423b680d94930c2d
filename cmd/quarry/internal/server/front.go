package server

import (
	"cmp"
	"net/http"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/pipeline/tail"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// limitsOf converts the limits of the settings, where 0 means no limit, to those of the
// API, where a negative value does.
func limitsOf(c *config.Limits) front.Limits {
	return front.Limits{
		PerSecond: cmp.Or(c.PerSecond, -1), Burst: c.Burst,
		AnonymousPerSecond: cmp.Or(c.AnonymousPerSecond, -1), AnonymousBurst: c.AnonymousBurst,
		Streams: cmp.Or(c.Streams, -1),
	}
}

// withClientAddresses determines the client address of each request to the main listener,
// before anything else handles the request.
func (s *Server) withClientAddresses(next http.Handler) http.Handler {
	return front.ClientAddresses(s.o.Config.Proxies(), next)
}

// newEventsHandler serves the log to owners. In a process without accounts it serves the
// log to the operator only.
func (s *Server) newEventsHandler() (http.Handler, error) {
	h := tail.Handler(s.log, s.stopping, s.o.Logger)
	if s.api != nil {
		return s.api.Front().OwnersOnly("/admin/events", audit.ReadOperations, h), nil
	}
	token, err := secrets.ReadOperatorToken(s.o.Config, s.o.Logger)
	if err != nil {
		return nil, err
	}
	return front.OperatorOnly(token, h), nil
}
