package server

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// pastQueries are run at every recorded moment.
var pastQueries = []string{"package", "alpha", "rev:* package", "rev:* beta", "file:^d/ gamma", "-alpha package"}

// moment holds the search results at one time, and the ways to name that time.
type moment struct {
	at      time.Time
	ends    []event.Offset
	answers [][]string
}

// recordMoment runs every query and lets the clock advance.
func recordMoment(t *testing.T, s *Server) moment {
	t.Helper()
	m := moment{at: time.Now()}
	var err error
	if m.ends, err = s.log.HighWater(t.Context(), event.TopicEvents); err != nil {
		t.Fatal(err)
	}
	for _, q := range pastQueries {
		m.answers = append(m.answers, mustAsk(t, s, q))
	}
	waitUntil(t, func() bool { return time.Now().After(m.at.Add(time.Millisecond)) })
	return m
}

// positionList names the moment by the last record of each partition.
func (m *moment) positionList() string {
	var parts []string
	for p, end := range m.ends {
		parts = append(parts, fmt.Sprintf("%d/%d", p, end-1))
	}
	return strings.Join(parts, ",")
}

func (m *moment) compareAnswers(t *testing.T, s *Server, name string) {
	t.Helper()
	for i, q := range pastQueries {
		if got := mustAsk(t, s, q); !slices.Equal(got, m.answers[i]) {
			t.Errorf("%s: %s\nnow  %q\nthen %q", name, q, got, m.answers[i])
		}
	}
}

// segmentsDeleted returns how many segments were deleted, and how many the segment store
// has.
func segmentsDeleted(t *testing.T, s *Server) (deleted, merges int) {
	t.Helper()
	there := map[string]bool{}
	for info, err := range s.segments.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := segmentstore.ParseSegmentName(info.Name); ok {
			there[id.String()] = true
		}
	}
	_, text := getURL(t, s.MetricsURL()+"/metrics")
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "quarry_places_excised_total ") {
			_, err := fmt.Sscan(strings.Fields(line)[1], &deleted)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return deleted, len(there)
}

// writeHistory pushes to a repository until segments have been merged and no segment
// contains the dead documents anymore. It records several moments on the way.
func writeHistory(t *testing.T, s *Server, g *gitRepository) (moments []moment) {
	t.Helper()
	words := []string{"alpha", "beta", "gamma"}
	const pushes = 20
	for n := range pushes {
		file := fmt.Sprintf("d/%d.go", n%5)
		if n%6 == 4 {
			g.runGitCommand("rm", "--quiet", "-r", "d")
		}
		s.pushAndAwait(t, g, file, fmt.Sprintf("package p%d // %s %d\n", n, words[n%3], n))
		if n == 7 {
			g.runGitCommand("branch", "side")
			g.runGitCommand("checkout", "--quiet", "side")
			g.commitFiles("side.go", "package side // beta\n")
			g.runGitCommand("checkout", "--quiet", "main")
		}
		if n%5 == 3 {
			moments = append(moments, recordMoment(t, s))
		}
	}
	waitUntil(t, func() bool { deleted, there := segmentsDeleted(t, s); return deleted >= 12 && there < 10 })
	return append(moments, recordMoment(t, s))
}

// TestSearchOfThePast writes a history in which segments are merged, deleted and lose
// dead documents. It compares versions of past moments with the results recorded then: on
// the running server by time and by position, and with the server stopped.
func TestSearchOfThePast(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "kazoo", "side")
	first := g.commitFiles("a.go", "package kazoo // alpha\n")
	c := testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir), "pipeline.mergeInterval=20ms", "log.partitions=2")
	s := openOnly(t, c)
	stop := run(t, s)
	s.registerAt(t, g, first)
	moments := writeHistory(t, s, g)
	present := moments[len(moments)-1]

	for n, m := range moments {
		to := m.at.UTC().Format(time.RFC3339Nano)
		if n%2 == 0 {
			to = m.positionList()
		}
		r := replayToEnd(t, s, "/api/replays", fmt.Sprintf(`{"to":%q}`, to))
		if r.MissingDocuments != 0 {
			t.Errorf("moment %d: %d documents are missing", n, r.MissingDocuments)
		}
		m.compareAnswers(t, s, fmt.Sprint("moment ", n))
		if status, body := getURL(t, s.MetricsURL()+"/readyz"); status != 200 || !strings.Contains(body, `"asOf"`) {
			t.Errorf("readyz of the past: %d %s", status, body)
		}
		if status, body := getURL(t, s.URL()+"/readyz"); status != 200 || strings.TrimSpace(body) != `{"status":"ok"}` {
			t.Errorf("readyz of the past on the main listener: %d %s, want the status alone", status, body)
		}
		if _, body := getURL(t, s.MetricsURL()+"/metrics"); !strings.Contains(body, "quarry_projections_frozen 1") {
			t.Error("no metric says that the version shows the past")
		}
	}
	checkExplain(t, s, present.positionList())
	withoutMirrors(t, s, moments[0])

	// A push that arrives while the past is shown is visible after the return to the
	// present.
	commit := g.commitFiles("new.go", "package fresh // alpha\n")
	if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	replayToEnd(t, s, "/api/replays/rollback", ``)
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == commit })
	replayToEnd(t, s, "/api/replays/rollback", ``)
	if s.defaultAt(g.ID) == commit {
		t.Error("a second roll back did not undo the first")
	}
	replayToEnd(t, s, "/api/replays", `{}`)
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == commit })
	present = recordMoment(t, s)
	stop()
	offlinePast(t, c.Data, s, moments[1], present)
}

// withoutMirrors builds a moment some of whose documents are in neither a segment nor a
// mirror. These are counted as missing, and documents in segments are found.
func withoutMirrors(t *testing.T, s *Server, m moment) {
	t.Helper()
	mirrors := s.mirrors
	s.mirrors = func() *mirror.Mirrors { return nil }
	r := replayToEnd(t, s, "/api/replays", fmt.Sprintf(`{"to":%q}`, m.positionList()))
	s.mirrors = mirrors
	found := mustAsk(t, s, "package")
	if r.MissingDocuments == 0 || r.MissingDocuments != len(m.answers[0])-len(found) || len(found) == 0 {
		t.Errorf("%d documents are said to be missing, %d of %d files are found", r.MissingDocuments, len(found), len(m.answers[0]))
	}
}

// checkExplain checks that a search result from the past names its time.
func checkExplain(t *testing.T, s *Server, asOf string) {
	t.Helper()
	var answer struct{ Explain struct{ AsOf string } }
	postJSON(t, s.URL()+"/api/search", `{"query":"package","matches":10,"explain":true}`, &answer)
	if answer.Explain.AsOf == "" {
		t.Errorf("explain says nothing of the past, want %s", asOf)
	}
}

// damageStore makes the live store of a stopped server unreadable.
func damageStore(t *testing.T, s *Server) {
	t.Helper()
	home, err := projections.OpenHome(s.o.Config.ProjectionsDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := home.Current()
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("no manifest in %s: %v", dir, err)
	}
	for _, path := range manifests {
		if err := os.WriteFile(path, []byte("these are no versions"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// offlinePast builds a moment with the server stopped, checks it with a server, and
// returns to the present.
func offlinePast(t *testing.T, data string, s *Server, m, present moment) {
	t.Helper()
	rebuild := func(f func(r *OfflineRebuild) error) {
		t.Helper()
		registry := prometheus.NewRegistry()
		r, err := OpenRebuild(t.Context(), Options{Config: s.o.Config, Logger: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f(r), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	look := func(m moment, name string) {
		t.Helper()
		s := openOnly(t, s.o.Config)
		stop := run(t, s)
		waitUntil(t, func() bool { return s.versions.CaughtUp() })
		m.compareAnswers(t, s, name)
		stop()
	}
	rebuild(func(r *OfflineRebuild) error {
		_, err := r.Switch(t.Context(), replay.Request{To: m.at.UTC().Format(time.RFC3339Nano)}, nil)
		return err
	})
	look(m, "offline")
	rebuild(func(r *OfflineRebuild) error { _, err := r.Rollback(); return err })
	look(present, "rolled back")
	damageStore(t, s)
	rebuild(func(r *OfflineRebuild) error { _, err := r.Switch(t.Context(), replay.Request{}, nil); return err })
	look(present, "rebuilt over a damaged store")
	left, err := filepath.Glob(filepath.Join(data, "past-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("segments of the past are left in %v, %v", left, err)
	}
}
