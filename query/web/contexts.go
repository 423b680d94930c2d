package web

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/search"
)

// contextsPath lists names of search contexts, for suggestions in the search box.
const contextsPath = searchPath + "/contexts"

// maxContextNames bounds the names in a list.
const maxContextNames = 10

// contextNames responds with the names of search contexts that contain some letters, as
// JSON. As in searches, a context exists for callers who may see one of its repositories.
func (s *Server) contextNames(w http.ResponseWriter, v *pageRequest) error {
	repositories, err := s.o.Search.SearchableRepositories(v.r.Context())
	if err != nil {
		return err
	}
	repositoryNames := func(yield func(string) bool) {
		for _, r := range repositories {
			if !yield(r.Name) {
				return
			}
		}
	}
	names := []string{}
	for name := range search.ExistingContexts(s.o.Contexts, repositoryNames, v.r.URL.Query().Get("name")) {
		if names = append(names, name); len(names) == maxContextNames {
			break
		}
	}
	body, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("web: names of contexts: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the browser may have disconnected
	return nil
}
