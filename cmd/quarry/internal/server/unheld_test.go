package server

import (
	"log/slog"
	"os"
	"testing"

	"github.com/quarrysearch/quarry/schemas/event"
)

// TestALostSegmentIsMadeAgain takes a segment out of the store and has the
// projections built anew: the refs that lack text are asked for once, and get it.
func TestALostSegmentIsMadeAgain(t *testing.T) {
	g := newGitRepository(t, "anvil", "release/*")
	last := g.commit("a.txt", "alpha\n", "b.txt", "beta\n")
	g.git("branch", "release/1")
	c := testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0", "pipeline.mergeInterval=0")
	t.Run("import", func(t *testing.T) { running(t, c).registerAt(t, g, last) })
	if err := os.RemoveAll(c.ProjectionsDir()); err != nil {
		t.Fatal(err)
	}
	removeSegments(t, c.SegmentsDir())

	s := running(t, c)
	live := s.versions.live.Load()
	<-live.runner.CaughtUp()
	unheld := func() int {
		v := live.places.Acquire()
		defer v.Release()
		return v.Unheld()
	}
	if n := unheld(); n != 2 {
		t.Fatalf("%d documents without a segment, want 2", n)
	}
	asked := func() int {
		n := 0
		for _, rec := range recordsOf(t, s, event.TopicEvents) {
			if header(rec, "ce_source") == "/quarry/repair" {
				n++
			}
		}
		return n
	}
	r := newRepairer(s.log, live.places, live.runner.CaughtUp(), slog.New(slog.DiscardHandler))
	r.look(t.Context())
	if n := asked(); n != 0 {
		t.Errorf("asked for %d refs at the first look, which a merge may explain", n)
	}
	r.look(t.Context())
	if n := asked(); n != 2 {
		t.Errorf("asked for %d refs, want both that name the documents", n)
	}
	r.look(t.Context())
	eventually(t, func() bool { return unheld() == 0 })
	r.look(t.Context())
	if n := asked(); n != 2 {
		t.Errorf("asked for %d refs in the end, want 2", n)
	}
}
