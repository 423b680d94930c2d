package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestConnectionsWithoutRepositories checks that a server without repositories has no
// connections, at its first request and after repositories were added and removed.
func TestConnectionsWithoutRepositories(t *testing.T) {
	for _, path := range []string{"/api/connections", "/api/repos?connectionId=1"} {
		w := newWorld()
		s := newServer(t, w.serverOptions())
		all := w.repositories
		for _, step := range []struct {
			name string
			none bool
		}{{"none yet", true}, {"some", false}, {"all removed", true}, {"still none", true}} {
			w.repositories = all
			if step.none {
				w.repositories = nil
			}
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
			if rec.Code != http.StatusOK {
				t.Errorf("GET %s with repositories %s: %d %s, want 200", path, step.name, rec.Code, rec.Body)
			}
			if step.none && strings.TrimSpace(rec.Body.String()) != "[]" {
				t.Errorf("%s, %s: %s, want an empty list", path, step.name, rec.Body)
			}
		}
	}
}
