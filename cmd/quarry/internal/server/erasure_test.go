package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// requestErasure requests an erasure as the API does.
func (s *Server) requestErasure(t *testing.T, g *gitRepository, commit code.CommitID) erasure.Erasure {
	t.Helper()
	e, err := s.apiOptions.Erasures.Erase(t.Context(), erasure.Request{Repository: g.ID, Commit: commit})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// awaitErasure waits until an erasure has ended and returns it.
func (s *Server) awaitErasure(t *testing.T, at event.Position) (ended erasure.Erasure) {
	t.Helper()
	eventuallyOr(t, func() bool {
		list, err := s.apiOptions.Erasures.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.At == at {
				ended = e
			}
		}
		return ended.State == erasure.Done || ended.State == erasure.Failed
	}, func() string { return "erasure: " + string(ended.State) + ", waits for " + string(ended.WaitsFor) })
	return ended
}

func checkErased(t *testing.T, c *config.Config, e erasure.Erasure, words ...string) {
	t.Helper()
	if e.State != erasure.Done || e.Proof == nil || e.Proof.Unnamed != 0 || e.Proof.Held != 0 || !e.Proof.MirrorChecked {
		t.Errorf("erasure %+v, proof %+v", e, e.Proof)
	}
	for _, word := range words {
		if found := filesWith(t, c.Data, word); len(found) > 0 {
			t.Errorf("%s is in %v after the erasure", word, found)
		}
	}
}

// erasureConfig returns a configuration that would keep removed text for an hour.
func erasureConfig(t *testing.T, repositories ...*gitRepository) *config.Config {
	var roots []string
	for _, g := range repositories {
		roots = append(roots, filepath.Dir(g.dir))
	}
	return testConfig(t, "git.allowedRoots="+strings.Join(roots, ","), "log.partitions=1", "pipeline.purgeAfter=1h")
}

// TestErasedRepositoryIsGone erases a repository that shares a partition, segments and a
// file with another one. When the erasure is done, no file of the data directory contains
// its text or the text of its former commits, including the previous version of the
// projections and the quarantine. The shared file stays in the other repository.
func TestErasedRepositoryIsGone(t *testing.T) {
	t.Parallel()
	const was, is, kept = "formererasedqzjxk", "presenterasedwqzj", "keptcanaryvkxqjzw"
	erased, stays := newGitRepository(t, "erased"), newGitRepository(t, "stays")
	erased.commitFiles("a.txt", was+"\n", "shared.txt", kept+"\n")
	staying := stays.commitFiles("c.txt", "c\n", "copied.txt", kept+"\n")
	c := erasureConfig(t, erased, stays)
	s := runServer(t, c)
	s.registerAt(t, stays, staying)
	s.registerAt(t, erased, code.CommitID(erased.runGitCommand("rev-parse", "HEAD")))
	present := erased.commitFiles("a.txt", is+"\n")
	if _, err := s.registrar.Refresh(t.Context(), erased.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(erased.ID) == present })
	s.replayAll(t)
	quarantined := filepath.Join(c.SegmentsDir(), "quarantine", "segment-00112233445566778899aabbccddeeff~1")
	if err := errors.Join(os.MkdirAll(filepath.Dir(quarantined), 0o700), os.WriteFile(quarantined, []byte(is), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{is, kept} {
		if found := firstElements(filesWith(t, c.Data, word)); found != "mirrors projections segments" {
			t.Fatalf("%s is in files of %s before the erasure: the test sees nothing", word, found)
		}
	}
	begun := s.requestErasure(t, erased, "")
	if begun.SharedFiles != 1 {
		t.Errorf("%d texts are said to be in other repositories, want 1", begun.SharedFiles)
	}
	ended := s.awaitErasure(t, begun.At)
	checkErased(t, c, ended, was, is)
	t.Logf("done after %s", ended.EndedAt.Sub(ended.RequestedAt))
	if ended.Proof.Quarantined != 1 {
		t.Errorf("proof %+v", ended.Proof)
	}
	if found := firstElements(filesWith(t, c.Data, kept)); found != "mirrors projections segments" {
		t.Errorf("the text of the other repository is in files of %q", found)
	}
	if s.defaultAt(stays.ID) != staying {
		t.Error("the other repository is not searchable")
	}
	if n, err := s.versions.Live().Places.RepositoryRows(erased.ID); n != 0 || err != nil {
		t.Errorf("%d rows are left of the repository, %v", n, err)
	}

	// After a rebuild, the erasure is still done.
	s.replayAll(t)
	list, err := s.apiOptions.Erasures.List(t.Context())
	if err != nil || len(list) != 1 || list[0].State != erasure.Done || !list[0].EndedAt.Equal(ended.EndedAt) {
		t.Errorf("erasures after a rebuild: %+v, %v", list, err)
	}
	checkErased(t, c, ended, was, is)

	// A second request, by a duplicate event, has nothing to do.
	again, err := s.registrar.AppendEvent(t.Context(), &event.RepositoryRemoved{Repository: erased.ID, Erase: true, At: time.Now().UTC()})
	if err != nil {
		t.Fatal(err)
	}
	checkErased(t, c, s.awaitErasure(t, again), was, is)
}

// replayAll rebuilds the projections.
func (s *Server) replayAll(t *testing.T) {
	t.Helper()
	replayed, err := s.versions.Replays().Start(t.Context(), replay.Request{})
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool {
		list, err := s.versions.Replays().List(t.Context())
		return err == nil && list.Replays[0].ID == replayed.ID && list.Replays[0].State == replay.Done
	})
}

// TestErasureGoesOnAfterARestart stops a server as soon as an erasure is in the log. The
// erasure completes after the restart.
func TestErasureGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	const word = "restartcanaryqzjxk"
	g := newGitRepository(t, "restarted")
	commit := g.commitFiles("a.txt", word+"\n")
	c := erasureConfig(t, g)
	s := openOnly(t, c)
	stop := run(t, s)
	waitForCallers(t, s)
	s.registerAt(t, g, commit)
	at := s.requestErasure(t, g, "").At
	stop()
	s = runServer(t, c)
	checkErased(t, c, s.awaitErasure(t, at), word)
}

// heldLog is a log that delays announcements.
type heldLog struct {
	eventlog.Log
	hold atomic.Bool
	// deaf makes announcements ignore the cancellation of their caller, so that they are
	// appended after the erasure.
	deaf     bool
	waiting  chan struct{}
	released chan struct{}
}

func (l *heldLog) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	if event.TypeOf(records[0]) == event.TypeRevisionIndexed && l.hold.CompareAndSwap(true, false) {
		close(l.waiting)
		<-l.released
		if l.deaf {
			ctx = context.WithoutCancel(ctx)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return l.Log.Append(ctx, topic, partition, records...)
}

// TestErasureWhileAPushArrives erases a repository after a worker has stored the segment
// of a push and before it announces the segment. The text is removed whether or not the
// announcement is appended.
func TestErasureWhileAPushArrives(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"announced late": true, "never announced": false} {
		t.Run(name, func(t *testing.T) {
			const word = "pushedcanaryqzjxkv"
			g := newGitRepository(t, "pushed")
			first := g.commitFiles("a.txt", "a\n")
			c := erasureConfig(t, g)
			log := &heldLog{deaf: deaf, waiting: make(chan struct{}), released: make(chan struct{})}
			s, err := Open(t.Context(), Options{Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Gatherer: prometheus.NewRegistry(),
				Version: "test", wrapLog: func(inner eventlog.Log) eventlog.Log { log.Log = inner; return log }})
			if err != nil {
				t.Fatal(err)
			}
			run(t, s)
			waitForCallers(t, s)
			s.registerAt(t, g, first)
			log.hold.Store(true)
			g.commitFiles("b.txt", word+"\n")
			if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
				t.Fatal(err)
			}
			<-log.waiting
			if found := firstElements(filesWith(t, c.Data, word)); found != "mirrors segments" {
				t.Fatalf("the text is in files of %q before the erasure: the test sees nothing", found)
			}
			at := s.requestErasure(t, g, "").At
			close(log.released)
			checkErased(t, c, s.awaitErasure(t, at), word)
		})
	}
}

// TestErasedCommitIsGone erases a commit that a forced push removed. While a branch
// reaches the commit, the request is refused; while the source repository still contains
// it, the erasure fails.
func TestErasedCommitIsGone(t *testing.T) {
	t.Parallel()
	const secret = "secretcanaryqzjxkv"
	g := newGitRepository(t, "amended")
	g.commitFiles("a.txt", "a\n")
	bad := g.commitFiles("key.txt", secret+"\n")
	c := erasureConfig(t, g)
	s := runServer(t, c)
	s.registerAt(t, g, bad)
	if found := firstElements(filesWith(t, c.Data, secret)); found != "mirrors projections segments" {
		t.Fatalf("the text is in files of %q: the test sees nothing", found)
	}
	_, err := s.apiOptions.Erasures.Erase(t.Context(), erasure.Request{Repository: g.ID, Commit: bad})
	if !errors.Is(err, failure.ErrConflict) || !strings.Contains(err.Error(), "leads to commit") {
		t.Errorf("erasing a commit of a branch: %v", err)
	}
	g.runGitCommand("reset", "--quiet", "--hard", "HEAD~1")
	good := g.commitFiles("b.txt", "b\n")
	if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == good })
	failed := s.awaitErasure(t, s.requestErasure(t, g, bad).At)
	if failed.State != erasure.Failed || !strings.Contains(failed.Error, "git gc") {
		t.Errorf("erasure of what the repository holds: %+v", failed)
	}
	g.runGitCommand("reflog", "expire", "--expire=now", "--all")
	g.runGitCommand("gc", "--quiet", "--prune=now")
	checkErased(t, c, s.awaitErasure(t, s.requestErasure(t, g, bad).At), secret)
	if s.defaultAt(g.ID) != good {
		t.Error("the repository is not searchable")
	}
	checkErased(t, c, s.awaitErasure(t, s.requestErasure(t, g, bad).At), secret) // a second time
}

// TestErasedPathIsGone erases a directory that a rewritten history no longer contains,
// with all of its versions, including one that an earlier push had replaced. While a
// branch reaches a commit with the directory, the request is refused; while the source
// repository still contains it, the erasure fails. Another path with the same text stays.
func TestErasedPathIsGone(t *testing.T) {
	t.Parallel()
	const one, two, kept = "firstcanaryqzjxkv", "secondcanarywqzjx", "sharedcanaryvkxqj"
	g := newGitRepository(t, "filtered")
	first := g.commitFiles("a.txt", "a\n", "copy.txt", kept+"\n")
	g.commitFiles("keys/key.txt", one+"\n", "keys/copy.txt", kept+"\n")
	c := erasureConfig(t, g)
	s := runServer(t, c)
	s.registerAt(t, g, code.CommitID(g.runGitCommand("rev-parse", "HEAD")))
	refresh := func(commit code.CommitID) {
		t.Helper()
		if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, func() bool { return s.defaultAt(g.ID) == commit })
	}
	refresh(g.commitFiles("keys/key.txt", two+"\n"))
	for _, word := range []string{one, two, kept} {
		if found := firstElements(filesWith(t, c.Data, word)); found != "mirrors projections segments" {
			t.Fatalf("%s is in files of %q: the test sees nothing", word, found)
		}
	}
	request := erasure.Request{Repository: g.ID, Path: "keys"}
	erase := func() event.Position {
		t.Helper()
		var e erasure.Erasure
		var err error
		// Searches show an indexed commit before the mirror records it.
		waitUntil(t, func() bool {
			e, err = s.apiOptions.Erasures.Erase(t.Context(), request)
			return !errors.Is(err, failure.ErrConflict)
		})
		if err != nil {
			t.Fatal(err)
		}
		return e.At
	}
	if _, err := s.apiOptions.Erasures.Erase(t.Context(), request); !errors.Is(err, failure.ErrConflict) || !strings.Contains(err.Error(), "leads to commit") {
		t.Errorf("erasing a path of a branch: %v", err)
	}
	g.runGitCommand("reset", "--quiet", "--hard", string(first))
	good := g.commitFiles("b.txt", "b\n")
	refresh(good)
	failed := s.awaitErasure(t, erase())
	if failed.State != erasure.Failed || !strings.Contains(failed.Error, "git gc") {
		t.Errorf("erasure of what the repository holds: %+v", failed)
	}
	g.runGitCommand("reflog", "expire", "--expire=now", "--all")
	g.runGitCommand("gc", "--quiet", "--prune=now")
	ended := s.awaitErasure(t, erase())
	checkErased(t, c, ended, one, two)
	if ended.Path != "keys" {
		t.Errorf("the path of the erasure is %q, want \"keys\"", ended.Path)
	}
	if found := firstElements(filesWith(t, c.Data, kept)); !strings.HasSuffix(found, "projections segments") || s.defaultAt(g.ID) != good { // the mirror may store it as a delta
		t.Errorf("the text of another path is in files of %q, main is at %s", found, s.defaultAt(g.ID))
	}
	checkErased(t, c, s.awaitErasure(t, erase()), one, two) // a second time
}

// TestErasureIsRefused requests erasures that the current state does not allow.
func TestErasureIsRefused(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "unmerged")
	commit := g.commitFiles("a.txt", "a\n")
	c := erasureConfig(t, g)
	c.Pipeline.MergeInterval = 0
	s := runServer(t, c)
	s.registerAt(t, g, commit)
	_, err := s.apiOptions.Erasures.Erase(t.Context(), erasure.Request{Repository: g.ID})
	if !errors.Is(err, failure.ErrConflict) || !strings.Contains(err.Error(), "pipeline.mergeInterval") {
		t.Errorf("without merges: %v", err)
	}

	c = erasureConfig(t, g)
	s = runServer(t, c)
	at := s.registerAt(t, g, commit)
	replayed, err := s.versions.Replays().Start(t.Context(), replay.Request{To: at.String()[strings.Index(at.String(), "/")+1:]})
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool {
		list, err := s.versions.Replays().List(t.Context())
		return err == nil && list.Replays[0].ID == replayed.ID && list.Replays[0].State == replay.Done
	})
	_, err = s.apiOptions.Erasures.Erase(t.Context(), erasure.Request{Repository: g.ID})
	if !errors.Is(err, failure.ErrConflict) || !strings.Contains(err.Error(), "quarry replay --rollback") {
		t.Errorf("in the past: %v", err)
	}
}

// TestOnlyOwnersErase requests an erasure in every role, for a repository that exists and
// one that does not.
func TestOnlyOwnersErase(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "owned")
	commit := g.commitFiles("a.txt", "a\n")
	s := runServer(t, erasureConfig(t, g))
	s.registerAt(t, g, commit)
	w := newTour(t, s, nil)
	ask := func(name, id, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/api/repos/"+id+"/erase", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if c := w.callers[name]; c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		response, err := w.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	id := "1"
	for _, name := range []string{"anonymous", "member"} {
		if status := ask(name, id, "{}"); !slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden}, status) {
			t.Errorf("%s: %d", name, status)
		}
	}
	for _, row := range []struct {
		id, body string
		want     int
	}{
		{"16000000", "{}", http.StatusNotFound},
		{id, `{"commit":"main"}`, http.StatusBadRequest},
		{id, `{"path":"../etc/passwd"}`, http.StatusBadRequest},
		{id, `{"path":"a.txt","commit":"0123456789012345678901234567890123456789"}`, http.StatusBadRequest},
		{id, `{"path":"a.txt"}`, http.StatusConflict},
		{id, "{}", http.StatusAccepted},
	} {
		if status := ask("owner", row.id, row.body); status != row.want {
			t.Errorf("owner, repository %s, body %s: %d, want %d", row.id, row.body, status, row.want)
		}
	}
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == "" })
	waitUntil(t, func() bool { return ask("owner", id, "{}") == http.StatusNotFound })
}
