package api

import (
	"fmt"
	"net/http"
)

type versionResponse struct {
	Version string `json:"version"`
}

type healthResponse struct {
	Status string `json:"status"`
}

// readyResponse says also which moment of the past answers show, if they do.
type readyResponse struct {
	healthResponse
	AsOf string `json:"asOf,omitempty"`
}

func (s *Server) version(*http.Request) (*reply, error) {
	return ok(versionResponse{s.o.Version}), nil
}

// health says that the process serves; it looks at nothing else, so that a slow
// disk does not get the process killed.
func (s *Server) health(*http.Request) (*reply, error) {
	return ok(healthResponse{"ok"}), nil
}

// ready says whether answers would be of use yet.
func (s *Server) ready(r *http.Request) (*reply, error) {
	if err := s.o.Ready(r.Context()); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotReady, err)
	}
	return ok(readyResponse{healthResponse{"ok"}, s.o.AsOf()}), nil
}
