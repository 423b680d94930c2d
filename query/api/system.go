package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/schemas/failure"
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

// reportReadiness reports whether the server can return useful results yet, and nothing
// else: every caller may know that, but not how much the server holds and what of it is
// missing.
func (s *Server) reportReadiness(r *http.Request) (*reply, error) {
	if s.o.Ready(r.Context()) != nil {
		return nil, failure.ErrNotReady
	}
	return okReply(wire.Readiness{Status: wire.ReadinessStatusOk}), nil
}

// Readiness returns the details of readiness, for operators and owners. The error has the
// reason why the server is not ready.
func (s *Server) Readiness(ctx context.Context) (*wire.Readiness, error) {
	if err := s.o.Ready(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", failure.ErrNotReady, err)
	}
	missing := s.o.Missing()
	return &wire.Readiness{
		Status: wire.ReadinessStatusOk, AsOf: s.o.AsOf(),
		MissingDocuments: missing.Documents, MissingRefs: missing.Refs, UnstoredDocuments: missing.Unstored,
	}, nil
}

// ServeReadiness answers GET /readyz with the details, on a listener for operators.
func (s *Server) ServeReadiness(w http.ResponseWriter, r *http.Request) {
	readiness, err := s.Readiness(r.Context())
	answer := okReply(readiness)
	if err != nil {
		answer = errorReply(err, "")
	}
	defer answer.Release()
	_ = answer.Write(w) // the client may have disconnected
}
