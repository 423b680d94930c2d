package server

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// lossWorld is a server that loses parts of its data directory, and the repositories that
// define the expected result.
type lossWorld struct {
	t            *testing.T
	c            *config.Config
	s            *Server
	stop         func()
	repositories []*gitRepository
	commits      int
}

// manyFiles is more changes than fit into an event, so that they are stored in an object.
const manyFiles = event.MaxInlineChanges + 1

// newLossWorld indexes repositories with two branches. If large is set, one of them has
// manyFiles.
func newLossWorld(t *testing.T, large bool, settings ...string) *lossWorld {
	w := &lossWorld{t: t}
	for _, name := range []string{"anvil", "kazoo"} {
		g := newGitRepository(t, name, "release/*")
		w.repositories = append(w.repositories, g)
		if large && name == "kazoo" {
			for i := range manyFiles {
				path := filepath.Join(g.dir, fmt.Sprintf("many/%d.txt", i))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, fmt.Appendf(nil, "lossword %d\n", i%7), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.commitFile(g)
		g.runGitCommand("checkout", "--quiet", "-b", "release/1")
		w.commitFile(g)
		g.runGitCommand("checkout", "--quiet", "main")
	}
	var roots []string
	for _, g := range w.repositories {
		roots = append(roots, g.dir)
	}
	w.c = testConfig(t, append(settings, "git.allowedRoots="+strings.Join(roots, ","), "pipeline.reconcileInterval=0")...)
	w.startServer()
	for _, g := range w.repositories {
		w.s.registerAt(t, g, code.CommitID(g.runGitCommand("rev-parse", "main")))
	}
	w.checkConsistency("at the beginning")
	return w
}

// commitFile adds a file to the checked-out branch and changes another.
func (w *lossWorld) commitFile(g *gitRepository) (before, after code.CommitID) {
	w.commits++
	before = code.CommitID(g.runGitCommand("for-each-ref", "--format=%(objectname)", g.runGitCommand("symbolic-ref", "HEAD")))
	return before, g.commitFiles(fmt.Sprintf("file%d.txt", w.commits), fmt.Sprintf("lossword new %d\n", w.commits), "same.txt", fmt.Sprintf("lossword changed %d\n", w.commits))
}

func (w *lossWorld) startServer() {
	w.t.Helper()
	w.s = openOnly(w.t, w.c)
	w.stop = run(w.t, w.s)
	waitUntil(w.t, func() bool { return w.s.checkReady(w.t.Context()) == nil })
}

func (w *lossWorld) stopServer() {
	w.t.Helper()
	w.stop()
	if err := w.s.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// appendPush appends a push of the checked-out branch.
func (w *lossWorld) appendPush(g *gitRepository, p *event.Push) {
	w.t.Helper()
	p.Repository, p.ReceivedAt = g.ID, boot.Now().UTC()
	if _, err := w.s.registrar.AppendEvents(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

// selectedRefs returns the branches of a repository that are indexed.
func (g *gitRepository) selectedRefs() map[code.Ref]code.CommitID {
	refs := map[code.Ref]code.CommitID{}
	for line := range strings.Lines(g.runGitCommand("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/heads/release/")) {
		name, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs[code.Ref(name)] = code.CommitID(commit)
	}
	return refs
}

// grepLines returns the expected results of a search of a branch: "path: line".
func (g *gitRepository) grepLines(ref code.Ref) []string {
	var lines []string
	for line := range strings.Lines(g.runGitCommand("grep", "lossword", string(ref), "--")) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		path, text, _ := strings.Cut(rest, ":")
		lines = append(lines, path+": "+text+"\n")
	}
	slices.Sort(lines)
	return lines
}

// pendingRecords describes the records that have not taken effect yet. It is empty if
// there are none.
func (w *lossWorld) pendingRecords() string {
	i := w.s.versions.Acquire()
	defer i.Release()
	high, err := w.s.log.HighWater(w.t.Context(), event.TopicEvents)
	if err != nil {
		return err.Error()
	}
	for partition, next := range high {
		if before, err := i.Fence.AppliedOffset(w.t.Context(), int32(partition)); err != nil || before < next {
			return fmt.Sprintf("partition %d has had its effect up to %d of %d: %v", partition, before, next, err)
		}
	}
	return ""
}

// indexDifference describes how the index differs from git. It is empty if the two agree.
func (w *lossWorld) indexDifference() string {
	i := w.s.versions.Acquire()
	defer i.Release()
	v := i.Places.Acquire()
	defer v.Release()
	if n := v.UnheldCount(); n > 0 {
		return fmt.Sprintf("%d documents are missing", n)
	}
	broken, err := v.Broken(10)
	if err != nil || len(broken) > 0 {
		return fmt.Sprintf("broken refs: %v, %v", broken, err)
	}
	for _, g := range w.repositories {
		indexed, refs := v.Repository(g.ID), g.selectedRefs()
		if indexed == nil || len(indexed.Refs) != len(refs) {
			return fmt.Sprintf("%s: %+v is indexed, want %v", g.Name, indexed, refs)
		}
		for ref, commit := range refs {
			if r := indexed.Ref(ref); r == nil || r.Commit != commit {
				return fmt.Sprintf("%s %s: %+v is indexed, want %s", g.Name, ref, r, commit)
			}
		}
	}
	return ""
}

// findProblem describes a problem of the server, or returns an empty string. It reads no
// files, so it may be called often.
func (w *lossWorld) findProblem() string {
	if p := w.pendingRecords(); p != "" {
		return p
	}
	if p := w.indexDifference(); p != "" {
		return p
	}
	return ""
}

// verifyAll describes the first difference that a verification finds, or what the server
// reports as missing, or returns an empty string.
func (w *lossWorld) verifyAll() string {
	for _, line := range verifyNow(w.t, w.s, verification.Request{Remote: true}).lines {
		if !strings.HasSuffix(line, "unchecked") { // without a mirror there is nothing to compare
			return "verify says " + line
		}
	}
	if status, body := getURL(w.t, w.s.MetricsURL()+"/readyz"); status != http.StatusOK || strings.Contains(body, "missing") || strings.Contains(body, "unstored") {
		return fmt.Sprintf("GET /readyz: %d %s", status, body)
	}
	return ""
}

// verifyPause is the time between two verifications of a state that is awaited. It doubles
// each time, because a verification lists every file in git.
const verifyPause = 20 * time.Millisecond

// checkConsistency waits until the index equals git. It then checks every line, the
// objects of the segment store and the dead letters.
func (w *lossWorld) checkConsistency(when string) {
	w.t.Helper()
	last, pause, next := "", verifyPause, time.Time{}
	eventuallyOr(w.t, func() bool {
		problem := w.findProblem()
		if problem == "" && time.Now().Before(next) {
			return false // last is what the last verification found
		}
		if problem == "" {
			problem = w.verifyAll()
			pause, next = 2*pause, time.Now().Add(pause)
		}
		last = problem
		return problem == ""
	}, func() string { return when + ": " + last })
	for _, g := range w.repositories {
		for ref := range g.selectedRefs() {
			found := mustAsk(w.t, w.s, fmt.Sprintf("lossword repo:^%s$ rev:%s", g.Name, ref.Short()))
			if want := g.grepLines(ref); !slices.Equal(found, want) {
				w.t.Fatalf("%s: %d lines of %s are found in %s, want %d", when, len(found), g.Name, ref, len(want))
			}
		}
	}
	high, err := w.s.log.HighWater(w.t.Context(), event.TopicDeadLetters)
	if err != nil {
		w.t.Fatal(err)
	}
	for partition, n := range high {
		if n > 0 {
			records := recordsOf(w.t, w.s, event.TopicDeadLetters)
			w.t.Fatalf("%s: %d dead letters in partition %d: %+v", when, n, partition, records[0])
		}
	}
}

// removeFiles removes files and directories below the data directory.
func (w *lossWorld) removeFiles(patterns ...string) {
	w.t.Helper()
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(w.c.Data, pattern))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, path := range paths {
			// The server may still write into a directory that is being removed.
			waitUntil(w.t, func() bool { return os.RemoveAll(path) == nil })
		}
	}
}
