package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"
)

// route is one operation. The coverage test compares the table with the
// OpenAPI document.
type route struct {
	method, path string
	handler      handler
	// stream is set instead of handler where the answer is written as it comes.
	stream streamHandler
}

func (s *Server) routes() []route {
	return []route{
		{http.MethodPost, "/api/search", s.search, nil},
		{http.MethodPost, "/api/stream_search", nil, s.streamSearch},
		{http.MethodPost, "/api/find_definitions", s.findDefinitions, nil},
		{http.MethodPost, "/api/find_references", s.findReferences, nil},
		{http.MethodGet, "/api/repos", s.listRepositories, nil},
		{http.MethodPost, "/api/repos", s.registerRepository, nil},
		{http.MethodDelete, "/api/repos/{repoId}", s.removeRepository, nil},
		{http.MethodPost, "/api/repos/{repoId}/refresh", s.refreshRepository, nil},
		{http.MethodGet, "/api/repos/{repoId}/status", s.repositoryStatus, nil},
		{http.MethodGet, "/api/repos/{repoId}/skipped", s.skippedFiles, nil},
		{http.MethodGet, "/api/deliveries", s.listDeliveries, nil},
		{http.MethodGet, "/api/deliveries/{deliveryKey}", s.showDelivery, nil},
		{http.MethodPost, "/api/deliveries/{deliveryKey}/redeliver", s.redeliver, nil},
		{http.MethodGet, "/api/replays", s.listReplays, nil},
		{http.MethodPost, "/api/replays", s.startReplay, nil},
		{http.MethodPost, "/api/replays/rollback", s.rollBack, nil},
		{http.MethodDelete, "/api/replays/{replayId}", s.cancelReplay, nil},
		{http.MethodGet, "/api/source", s.source, nil},
		{http.MethodPost, "/api/tree", s.tree, nil},
		{http.MethodPost, "/api/files", s.files, nil},
		{http.MethodGet, "/api/folder_contents", s.folderContents, nil},
		{http.MethodGet, "/api/commits", s.commits, nil},
		{http.MethodGet, "/api/commits/authors", s.commitAuthors, nil},
		{http.MethodGet, "/api/commit", s.commit, nil},
		{http.MethodGet, "/api/diff", s.diff, nil},
		{http.MethodGet, "/api/blame", s.blame, nil},
		{http.MethodPost, "/api/verifications", nil, s.verify},
		{http.MethodGet, "/api/deadletters", s.listDeadLetters, nil},
		{http.MethodDelete, "/api/deadletters", s.dropDeadLetters, nil},
		{http.MethodPost, "/api/deadletters/replay", s.replayDeadLetters, nil},
		{http.MethodGet, "/api/deadletters/{partition}/{offset}", s.showDeadLetter, nil},
		{http.MethodDelete, "/api/deadletters/{partition}/{offset}", s.dropDeadLetter, nil},
		{http.MethodPost, "/api/deadletters/{partition}/{offset}/replay", s.replayDeadLetter, nil},
		{http.MethodGet, "/api/version", s.version, nil},
		{http.MethodGet, "/api/health", s.health, nil},
		{http.MethodGet, "/api/openapi.json", s.openAPI, nil},
		{http.MethodGet, "/healthz", s.health, nil},
		{http.MethodGet, "/readyz", s.ready, nil},
	}
}

func (s *Server) router() *mux.Router {
	router := mux.NewRouter().SkipClean(true)
	for _, r := range s.routes() {
		h := s.serve(r.path, r.handler)
		if r.stream != nil {
			h = s.serveStream(r.path, r.stream)
		}
		router.Handle(r.path, h).Methods(methods(r.method)...)
	}
	router.NotFoundHandler = s.serve(unknownRoute, func(*http.Request) (*reply, error) { return nil, errNoRoute })
	router.MethodNotAllowedHandler = s.serve(unknownRoute, func(r *http.Request) (*reply, error) {
		return nil, &methodError{allowed: s.allowed(router, r)}
	})
	return router
}

// unknownRoute is the label of requests that no route takes.
const unknownRoute = "unknown"

// methods adds HEAD to GET: net/http leaves out the body by itself.
func methods(method string) []string {
	if method == http.MethodGet {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{method}
}

// allowed returns the methods that r's path takes, for the header Allow.
func (s *Server) allowed(router *mux.Router, r *http.Request) string {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
		var match mux.RouteMatch
		probe := r.Clone(r.Context())
		probe.Method = method
		if router.Match(probe, &match) && match.MatchErr == nil && !slices.Contains(allowed, method) {
			allowed = append(allowed, method)
		}
	}
	return strings.Join(allowed, ", ")
}
