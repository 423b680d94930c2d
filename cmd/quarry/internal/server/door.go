package server

import (
	"cmp"
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

// door is what every request to the main listener passes first.
func (s *Server) door(next http.Handler) http.Handler {
	return boot.ClientAddresses(s.o.Config.Proxies(), next)
}

// events serves the log to those who administer the instance.
func (s *Server) events() http.Handler {
	h := tail.Handler(s.log, s.o.Logger)
	if s.api != nil {
		return s.api.OwnersOnly("/admin/events", audit.ReadOperations, h)
	}
	return h
}
