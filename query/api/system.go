package api

import (
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func (s *Server) showVersion(*http.Request) (*reply, error) {
	return okReply(wire.Version{Version: s.o.Version}), nil
}

// listModels returns the language models, of which this server has none. Clients of the
// established interface request them when they start.
func (s *Server) listModels(*http.Request) (*reply, error) {
	return okReply([]wire.LanguageModel{}), nil
}

// reportHealth reports that the process serves requests. It checks nothing else, so that
// a slow disk does not get the process killed.
func (s *Server) reportHealth(*http.Request) (*reply, error) {
	return okReply(wire.Health{Status: wire.HealthStatusOk}), nil
}

// reportReadiness reports whether the server can return useful results yet.
func (s *Server) reportReadiness(r *http.Request) (*reply, error) {
	if err := s.o.Ready(r.Context()); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotReady, err)
	}
	missing := s.o.Missing()
	return okReply(wire.Readiness{
		Status: wire.ReadinessStatusOk, AsOf: s.o.AsOf(),
		MissingDocuments: missing.Documents, MissingRefs: missing.Refs, UnstoredDocuments: missing.Unstored,
	}), nil
}
