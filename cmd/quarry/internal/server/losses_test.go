package server

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/replay"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// A loss is something that a disk or a person may remove from the data directory without
// harm, according to the table in docs/operations.md.
type loss struct {
	name  string
	paths []string
	// before are removed just before the server stops, because it removes them then.
	before []string
	// running is set if the loss may happen while the server runs.
	running bool
	// large is set if the loss needs manifests in the segment store.
	large bool
}

var losses = []loss{
	{name: "mirrors", paths: []string{"mirrors"}, running: true},
	{name: "a mirror and temporary files", paths: []string{"mirrors/??/*", "tmp", "merges"}, running: true},
	{name: "notes", paths: []string{"mirrors/notes"}, running: true},
	{name: "projections", paths: []string{"projections"}},
	{name: "accounts and operator", paths: []string{"accounts", "operator.token", "LOCK"}, before: []string{"setup.link"}},
	{name: "restored backup", paths: []string{"projections", "accounts", "mirrors", "tmp", "merges", "operator.token", "LOCK"}, before: []string{"setup.link"}},
	{name: "segments and projections", paths: []string{"segments", "projections"}},
	{name: "restored log and key", paths: []string{"segments", "projections", "accounts", "mirrors", "tmp", "merges", "operator.token", "LOCK"}, before: []string{"setup.link"}, large: true},
	{name: "segments below live projections", paths: []string{"segments"}, running: true, large: true},
	{name: "single segments below live projections", paths: []string{"segments/segment-[0-7]*"}, running: true},
	{name: "manifests below live projections", paths: []string{"segments/manifest-*"}, running: true, large: true},
	{name: "segments and mirrors", paths: []string{"segments", "mirrors"}, running: true},
}

// A sequel is an action that follows a loss.
type sequel struct {
	name string
	do   func(w *lossWorld, g *gitRepository)
}

var sequels = []sequel{
	{"push with commits", func(w *lossWorld, g *gitRepository) {
		before, after := w.commitFile(g)
		w.appendPush(g, &event.Push{Ref: "refs/heads/main", Before: before, After: after, Action: event.ActionUpdated})
	}},
	{"push of a ref", func(w *lossWorld, g *gitRepository) {
		w.commitFile(g)
		w.appendPush(g, &event.Push{Ref: "refs/heads/main", Action: event.ActionUpdated})
	}},
	{"refresh of a ref", func(w *lossWorld, g *gitRepository) {
		w.commitFile(g)
		w.appendPush(g, &event.Push{Ref: "refs/heads/main", Action: event.ActionRefresh})
	}},
	{"refresh", func(w *lossWorld, g *gitRepository) {
		w.commitFile(g)
		w.appendPush(g, &event.Push{Action: event.ActionRefresh})
	}},
	{"reindex", func(w *lossWorld, g *gitRepository) {
		if status := postJSON(w.t, fmt.Sprintf("%s/api/repos/%d/reindex", w.s.URL(), uint64(g.ID)), "{}", &struct{}{}); status != http.StatusAccepted {
			w.t.Fatalf("reindex: %d, want %d", status, http.StatusAccepted)
		}
	}},
	{"replay", func(w *lossWorld, _ *gitRepository) {
		// The replay may be refused at first: the lost documents are being indexed again.
		waitUntil(w.t, func() bool { return replayEnd(w.t, w.s, "/api/replays", `{}`).State == replay.Done })
	}},
	{"verify and repair", func(w *lossWorld, _ *gitRepository) {
		found := verifyNow(w.t, w.s, verification.Request{Repair: true, Remote: true})
		if lacks := w.indexDifference(); found.summary.Differences == 0 && lacks != "" {
			w.t.Errorf("verify found no difference, and %s", lacks)
		}
	}},
	{"restart", func(w *lossWorld, _ *gitRepository) { w.stopServer(); w.startServer() }},
	{"new branch", func(w *lossWorld, g *gitRepository) {
		// HEAD names the default branch, which the server may read at any time, so the commit
		// is made in another working tree.
		name := fmt.Sprint("release/new", w.commits)
		linked := &gitRepository{t: w.t, dir: filepath.Join(w.t.TempDir(), "linked")}
		g.runGitCommand("worktree", "add", "--quiet", "-b", name, linked.dir)
		_, after := w.commitFile(linked)
		g.runGitCommand("worktree", "remove", linked.dir)
		w.appendPush(g, &event.Push{Ref: code.BranchRef(name), After: after, Action: event.ActionCreated})
	}},
	{"branch removed", func(w *lossWorld, _ *gitRepository) {
		g := w.repositories[0]
		before := code.CommitID(g.runGitCommand("rev-parse", "release/1"))
		g.runGitCommand("branch", "--quiet", "-D", "release/1")
		w.appendPush(g, &event.Push{Ref: "refs/heads/release/1", Before: before, Action: event.ActionDeleted})
	}},
	{"branch back", func(w *lossWorld, _ *gitRepository) {
		g := w.repositories[0]
		g.runGitCommand("branch", "release/1", "main~1")
		w.appendPush(g, &event.Push{Ref: "refs/heads/release/1", Action: event.ActionUpdated})
	}},
	{"repository removed and back", func(w *lossWorld, g *gitRepository) {
		if _, err := w.s.registrar.Remove(w.t.Context(), g.ID, "test"); err != nil {
			w.t.Fatal(err)
		}
		waitUntil(w.t, func() bool { return w.s.defaultAt(g.ID) == "" })
		w.s.registerAt(w.t, g, code.CommitID(g.runGitCommand("rev-parse", "main")))
	}},
}

// TestEveryLossHeals follows each loss by each sequel in one data directory. Each loss must
// remove something. In the end the index equals git, there is no dead letter, and no manual step was needed.
func TestEveryLossHeals(t *testing.T) {
	t.Parallel()
	for _, l := range losses {
		for _, running := range []bool{false, true} {
			if running && !l.running {
				continue
			}
			t.Run(fmt.Sprintf("%s/running=%t", l.name, running), func(t *testing.T) {
				t.Parallel()
				w := newLossWorld(t, l.large)
				for n, next := range sequels {
					if !w.hasFiles(l.paths) {
						w.recreateFiles()
					}
					if !running {
						// A server makes these files soon after its start.
						waitUntil(t, func() bool { return w.hasFiles(l.before) })
						w.removeFiles(l.before...)
						w.stopServer()
					}
					if !w.hasFiles(l.paths) {
						t.Fatalf("before %q, the data directory has no file for one of %v, so that nothing is lost", next.name, l.paths)
					}
					w.removeFiles(l.paths...)
					if !running {
						w.startServer()
					}
					next.do(w, w.repositories[n%len(w.repositories)])
					w.checkConsistency(next.name)
				}
			})
		}
	}
}

// hasFiles reports whether each pattern matches a file of the data directory.
func (w *lossWorld) hasFiles(patterns []string) bool {
	for _, pattern := range patterns {
		if paths, err := filepath.Glob(filepath.Join(w.c.Data, pattern)); err != nil || len(paths) == 0 {
			return false
		}
	}
	return true
}

// recreateFiles brings back what earlier losses removed and no sequel has needed since: a
// start makes directories, and a push of each repository its mirror and the notes.
func (w *lossWorld) recreateFiles() {
	w.t.Helper()
	w.stopServer()
	w.startServer()
	for _, g := range w.repositories {
		w.commitFile(g)
		w.appendPush(g, &event.Push{Ref: "refs/heads/main", Action: event.ActionUpdated})
	}
	w.checkConsistency("after lost files are there again")
}

// TestLostSegmentsAreForgotten loses the segment store and the projections. Once the refs
// are re-indexed, nothing names the lost segments anymore: neither the projections nor a
// rebuild of them.
func TestLostSegmentsAreForgotten(t *testing.T) {
	t.Parallel()
	w := newLossWorld(t, false)
	absent := func() (n int) {
		v := w.s.versions.Live().Places.Acquire()
		defer v.Release()
		for _, s := range v.SegmentInfos() {
			if s.Absent {
				n++
			}
		}
		return n
	}
	w.stopServer()
	w.removeFiles("segments", "projections")
	w.startServer()
	w.checkConsistency("after the loss")
	eventuallyOr(t, func() bool { return absent() == 0 }, func() string { return fmt.Sprint(absent(), " lost segments are still named") })
	w.checkConsistency("without the lost segments")
	w.s.replayAll(t)
	if n := absent(); n > 0 {
		t.Errorf("a rebuild names %d lost segments", n)
	}
	w.checkConsistency("after a rebuild")
}
