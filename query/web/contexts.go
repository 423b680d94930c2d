package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// contextsPath lists names of search contexts, for suggestions in the search box.
const contextsPath = searchPath + "/contexts"

const (
	// maxContextNames bounds the names in a list.
	maxContextNames = 10
	// maxContextChecks bounds the repositories that are checked for one list; names
	// beyond it are not suggested.
	maxContextChecks = 200_000
)

// contextNames responds with the names of search contexts that contain some letters, as
// JSON. As in searches, a context exists for callers who may see one of its repositories.
func (s *Server) contextNames(w http.ResponseWriter, v *pageRequest) error {
	repositories, err := s.o.Search.SearchableRepositories(v.r.Context())
	if err != nil {
		return err
	}
	letters := strings.ToLower(v.r.URL.Query().Get("name"))
	names, checks := []string{}, 0
	for _, name := range slices.Sorted(maps.Keys(s.o.Contexts)) {
		if len(names) == maxContextNames || checks > maxContextChecks {
			break
		}
		if !strings.Contains(strings.ToLower(name), letters) {
			continue
		}
		holds := s.o.Contexts[name]
		for _, r := range repositories {
			if checks++; holds(r.Name) {
				names = append(names, name)
				break
			}
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
