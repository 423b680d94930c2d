package server

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// repairRequests returns the requested refs, in order.
func repairRequests(t *testing.T, s *Server) (refs []string) {
	t.Helper()
	for _, rec := range recordsOf(t, s, event.TopicEvents) {
		if event.SourceOf(rec) != event.RepairSource {
			continue
		}
		_, ev, err := event.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ev.(*event.Push).Ref.Short())
	}
	return refs
}

// TestRepairRequests removes all segments and rebuilds, in a process without workers.
// Every ref that lacks text is requested once, in the second check, and again after a
// while if the request was handled but did not help.
func TestRepairRequests(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "anvil", "release/*")
	last := g.commitFiles("a.txt", "alpha\n", "b.txt", "beta\n")
	g.runGitCommand("branch", "release/1")
	c := testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0", "pipeline.mergeInterval=0")
	t.Run("import", func(t *testing.T) { runServer(t, c).registerAt(t, g, last) })
	if err := os.RemoveAll(c.ProjectionsDir()); err != nil {
		t.Fatal(err)
	}
	removeSegments(t, c.SegmentsDir())

	c.Roles = []string{config.RoleQuery}
	s := openOnly(t, c)
	live := s.versions.Live()
	clock, applied, said := time.Unix(1, 0), event.Offset(math.MaxInt64), new(bytes.Buffer)
	current := false
	r := repair.New(repair.Options{
		Log: s.log, Acquire: live.Places.Acquire, Store: live.StoreChecker, Logger: slog.New(slog.NewTextHandler(said, nil)),
		Now:     func() time.Time { return clock },
		Current: func() bool { return current },
		Applied: func(context.Context, int32) (event.Offset, error) { return applied, nil },
	})
	live.Reindexer = nil // r checks instead
	run(t, s)
	<-live.Runner.CaughtUp()
	if v := live.Places.Acquire(); v.UnheldCount() != 2 {
		t.Errorf("%d documents are missing, want 2", v.UnheldCount())
		v.Release()
	} else {
		v.Release()
	}
	const minRepairWait = 5 * time.Minute // same as in repair.Reindexer
	for _, step := range []struct {
		what  string
		do    func()
		asked int // total number of requests
	}{
		{"a look of a process that is behind the log", func() {}, 0},
		{"a second one", func() {}, 0},
		{"the first look at the end of the log, which a merge may explain", func() { current = true }, 0},
		{"the second look", func() {}, 2},
		{"a look before the requests have had their effect", func() { applied = 0 }, 2},
		{"a look after that", func() { applied = math.MaxInt64 }, 2},
		{"a look some minutes later", func() { clock = clock.Add(minRepairWait) }, 4},
		{"a look at once", func() {}, 4},
		{"a look as many minutes later", func() { clock = clock.Add(minRepairWait) }, 4},
		{"a look twice as many minutes later", func() { clock = clock.Add(minRepairWait) }, 6},
	} {
		step.do()
		r.CheckOnce(t.Context())
		if got := repairRequests(t, s); len(got) != step.asked || step.asked > 0 && !slices.Equal(got[:2], []string{"main", "release/1"}) {
			t.Errorf("after %s: %v were asked for, want %d", step.what, got, step.asked)
		}
	}
	if !strings.Contains(said.String(), "missing_documents=2") || !strings.Contains(said.String(), "repositories=1 refs=2") {
		t.Errorf("the log says %s", said)
	}
}

// TestRepairOfHiddenDocuments loses the text of a file that no ref shows: the branch was
// created before the default branch changed the file, and contains other text. The chaos
// suite found that it counted as missing forever.
func TestRepairOfHiddenDocuments(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "anvil", "release/*")
	first := g.commitFiles("same.txt", "alpha\n")
	c := testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0", "pipeline.mergeInterval=0")
	var lost []string
	t.Run("import", func(t *testing.T) {
		s := runServer(t, c)
		s.registerAt(t, g, first)
		for name := range objectsOf(t, c.SegmentsDir(), "segment-*") {
			lost = append(lost, name)
		}
		g.runGitCommand("checkout", "--quiet", "-b", "release/1")
		g.commitFiles("same.txt", "beta\n")
		g.runGitCommand("checkout", "--quiet", "main")
		at, err := s.registrar.Refresh(t.Context(), g.ID)
		if err != nil {
			t.Fatal(err)
		}
		waitUntil(t, func() bool {
			before, err := s.versions.Live().Fence.AppliedOffset(t.Context(), at.Partition)
			return err == nil && before > at.Offset
		})
		s.pushAndAwait(t, g, "same.txt", "gamma\n")
	})
	for _, name := range lost {
		if err := os.Remove(filepath.Join(c.SegmentsDir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(c.ProjectionsDir()); err != nil {
		t.Fatal(err)
	}
	s := runServer(t, c)
	<-s.versions.Live().Runner.CaughtUp()
	if missing := s.versions.ReportMissing(); missing.Documents != 1 {
		t.Fatalf("%+v is missing, want one document", missing)
	}
	waitUntil(t, func() bool { return s.versions.ReportMissing() == (replay.Missing{}) })
}
