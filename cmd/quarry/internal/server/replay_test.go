package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// searchLines returns the results of a search in order, as "path: content".
func searchLines(s *Server, query string) ([]string, error) {
	body := fmt.Sprintf(`{"query":%q,"matches":10000}`, query)
	response, err := http.Post(s.URL()+"/api/search", "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Files []struct {
			FileName struct{ Text string }
			Chunks   []struct{ Content string }
		}
		Message string
	}
	err = errors.Join(json.NewDecoder(response.Body).Decode(&answer), response.Body.Close())
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d, %s: %w", response.StatusCode, answer.Message, err)
	}
	var found []string
	for _, f := range answer.Files {
		line := f.FileName.Text + ":"
		for _, c := range f.Chunks {
			line += " " + c.Content
		}
		found = append(found, line)
	}
	slices.Sort(found)
	return found, nil
}

func mustAsk(t *testing.T, s *Server, query string) []string {
	t.Helper()
	found, err := searchLines(s, query)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// replayToEnd starts a replay or a rollback through the API and waits until it has
// succeeded.
func replayToEnd(t *testing.T, s *Server, path, body string) replay.Replay {
	t.Helper()
	last := replayEnd(t, s, path, body)
	if last.State != replay.Done {
		t.Fatalf("POST %s %s: %+v", path, body, last)
	}
	return last
}

// replayEnd runs a replay and returns its final state.
func replayEnd(t *testing.T, s *Server, path, body string) replay.Replay {
	t.Helper()
	var begun replay.Replay
	if status := postJSON(t, s.URL()+path, body, &begun); status != http.StatusAccepted {
		t.Fatalf("POST %s: %d, want %d", path, status, http.StatusAccepted)
	}
	var last replay.Replay
	waitUntil(t, func() bool {
		var list struct{ Replays []replay.Replay }
		_, text := getURL(t, s.URL()+"/api/replays")
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		last = list.Replays[slices.IndexFunc(list.Replays, func(r replay.Replay) bool { return r.ID == begun.ID })]
		return last.State == replay.Done || last.State == replay.Failed || last.State == replay.Canceled
	})
	return last
}

func (s *Server) liveVersionName() string { return filepath.Base(s.versions.Live().Store.Dir()) }

// pushAndAwait commits and waits until the commit is searchable.
func (s *Server) pushAndAwait(t *testing.T, g *gitRepository, pairs ...string) event.Position {
	t.Helper()
	commit := g.commitFiles(pairs...)
	at, err := s.registrar.Refresh(t.Context(), g.ID)
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == commit })
	return at
}

// TestReplayOfARunningServer builds versions while searches and pushes continue: every
// search is answered, and finds at least what existed when it began.
func TestReplayOfARunningServer(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "kazoo")
	first := g.commitFiles("a.go", "package kazoo\n")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir)))
	s.registerAt(t, g, first)

	ctx, stop := context.WithCancel(t.Context())
	var searching sync.WaitGroup
	searching.Go(func() {
		for ctx.Err() == nil {
			if found, err := searchLines(s, "kazoo"); err != nil || len(found) == 0 {
				t.Errorf("a search during a replay: %v, %v", found, err)
				return
			}
		}
	})
	for n, c := range []struct{ path, body, version, previous string }{
		{"/api/replays", `{}`, "projections-2", "projections-1"},
		{"/api/replays/rollback", ``, "projections-1", "projections-2"},
		{"/api/replays", `{"projection":"places"}`, "projections-3", "projections-1"},
		{"/api/replays", `{"projection":"catalog"}`, "projections-4", "projections-3"},
		{"/api/replays/rollback", ``, "projections-3", "projections-4"},
	} {
		s.pushAndAwait(t, g, fmt.Sprintf("%d.go", n), fmt.Sprintf("package kazoo // %d\n", n))
		replayToEnd(t, s, c.path, c.body)
		known, err := s.versions.Replays().List(t.Context())
		if err != nil || s.liveVersionName() != c.version || known.Previous == nil || known.Previous.Name != c.previous {
			t.Fatalf("%s %s: live %s, previous %+v: %v", c.path, c.body, s.liveVersionName(), known.Previous, err)
		}
		waitUntil(t, func() bool { return len(mustAsk(t, s, "kazoo")) == n+2 })
		if status, body := getURL(t, s.MetricsURL()+"/metrics"); status != 200 || !strings.Contains(body, "quarry_store_disk_bytes") || !strings.Contains(body, "quarry_projections_caught_up 1") {
			t.Fatalf("metrics after a switch: %d\n%s", status, body)
		}
		left, err := filepath.Glob(filepath.Join(s.o.Config.ProjectionsDir(), "projections-*"))
		if err != nil || len(left) > projections.MaxVersions {
			t.Fatalf("versions left: %v, %v", left, err)
		}
	}
	dropObjects(t, s)
	replayToEnd(t, s, "/api/replays/rollback", ``)
	if found := mustAsk(t, s, "kazoo"); len(found) != 6 {
		t.Errorf("a version whose objects are gone finds %v", found)
	}
	stop()
	searching.Wait()
	if status, body := getURL(t, s.MetricsURL()+"/readyz"); status != 200 || strings.Contains(body, "asOf") {
		t.Errorf("readyz: %d %s", status, body)
	}
}

// dropObjects deletes every object of the segment store.
func dropObjects(t *testing.T, s *Server) {
	t.Helper()
	for info, err := range s.segments.List(t.Context()) {
		if err := errors.Join(err, s.segments.Delete(t.Context(), info.Name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplayRefusals checks the status of replays that are refused.
func TestReplayRefusals(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	for body, part := range map[string]string{
		`{"projection":"nothing"}`:      "catalog, places",
		`{"to":"yesterday"}`:            "2026-03-04",
		`{"to":"2999-01-01T00:00:00Z"}`: "future",
	} {
		var e struct{ Message string }
		if status := postJSON(t, s.URL()+"/api/replays", body, &e); status != http.StatusBadRequest || !strings.Contains(e.Message, part) {
			t.Errorf("%s: %d %s", body, status, e.Message)
		}
	}
	var e struct{ Message string }
	if status := postJSON(t, s.URL()+"/api/replays/rollback", ``, &e); status != http.StatusConflict {
		t.Errorf("roll back of a new installation: %d %s", status, e.Message)
	}
}
