package indexstatus

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/indexer"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections/versions/versionstest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/indexing"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// newReader returns a Reader over a new log with one partition, which no projection
// follows.
func newReader(t *testing.T) *Reader {
	t.Helper()
	log, v := versionstest.Open(t, 1, worker.DefaultGroup)
	return New(log, v, func() *Pipeline { return nil })
}

// appendPushes appends n pushes of a repository.
func (s *Reader) appendPushes(t *testing.T, id code.RepositoryID, n int) {
	t.Helper()
	now, records := time.Now().UTC(), make([]event.Record, n)
	for i := range records {
		var err error
		records[i], err = event.Encode(event.Envelope{ID: strconv.Itoa(i), Source: "/test", Time: now}, &event.Push{Repository: id, Action: event.ActionRefresh, ReceivedAt: now})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.log.Append(t.Context(), event.TopicEvents, eventlog.AnyPartition, records...); err != nil {
		t.Fatal(err)
	}
}

// countWaiting counts the waiting pushes of a repository from the applied position on.
func (s *Reader) countWaiting(t *testing.T, id code.RepositoryID) (f indexing.Freshness) {
	t.Helper()
	i := s.versions.Acquire()
	defer i.Release()
	at, err := s.appliedPosition(t.Context(), i, id)
	if err == nil {
		err = s.countWaitingPushes(t.Context(), id, at, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFreshnessCountsWhatWaits counts the pushes of one repository from a position of the
// log on.
func TestFreshnessCountsWhatWaits(t *testing.T) {
	s := newReader(t)
	id := code.RepositoryID(7)
	if f := s.countWaiting(t, id); f != (indexing.Freshness{}) {
		t.Fatalf("in an empty log: %+v", f)
	}
	for i, other := range []code.RepositoryID{7, 8, 7} {
		s.appendPushes(t, other, 1)
		if f := s.countWaiting(t, id); f.Waiting != i/2+1 || f.OldestAt.IsZero() || f.More {
			t.Errorf("after %d pushes: %+v", i+1, f)
		}
	}
	for range 10 {
		s.appendPushes(t, 8, maxWaitingRecords/10)
	}
	if f := s.countWaiting(t, id); !f.More || f.Waiting != 2 {
		t.Errorf("with more than is looked at: %+v", f)
	}
}

// TestUnknownRepositoryHasNoStatus checks that an unknown repository yields the error for
// a 404, and that a process without a pipeline reports no work.
func TestUnknownRepositoryHasNoStatus(t *testing.T) {
	s := newReader(t)
	if _, err := s.Status(t.Context(), 7); !errors.Is(err, code.ErrNotFound) {
		t.Errorf("status of an unknown repository: %v, want %v", err, code.ErrNotFound)
	}
	if _, _, err := s.Skipped(t.Context(), 7, "", "", 0, 10); !errors.Is(err, code.ErrNotFound) || !strings.Contains(err.Error(), "no commits") {
		t.Errorf("skipped files of an unknown repository: %v, want %v", err, code.ErrNotFound)
	}
	if got, err := NewSelector(s.pipeline, nil).Select(t.Context(), code.Repository{ID: 7}); err != nil || got.Message != "" || len(got.Unmatched) != 0 || got.Branches != (wire.RefCount{}) {
		t.Errorf("selected refs without mirrors: %+v", got)
	}
}

// TestEmptyIsWhatAFetchFound calls a repository empty only if its last fetch found no commit. One whose
// import has yet to begin again after a start, failed before it, or is not applied yet has a mirror as
// well.
func TestEmptyIsWhatAFetchFound(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("main.go", "package main\n")
	mirrors, err := mirror.Open(t.Context(), mirror.Options{
		Dir: filepath.Join(t.TempDir(), "mirrors"), Policy: mirror.Policy{Schemes: []string{"file"}, Roots: []string{repo.Dir}}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := mirrors.Close(); err != nil {
			t.Error(err)
		}
	}()
	s, known := newReader(t), repo.Code("r")
	s.pipeline = func() *Pipeline { return &Pipeline{Mirrors: mirrors, Indexer: new(indexer.Indexer)} }
	m := mirrors.Mirror(known.ID)
	fetched, err := m.Fetch(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string, state indexing.State, want bool) {
		t.Helper()
		out := indexing.Status{Repository: known, State: state}
		if s.addWork(&out); out.Empty != want || out.State != state {
			t.Errorf("%s: empty %v and %s, want %v", when, out.Empty, out.State, want)
		}
	}
	check("fetched in part", indexing.Registered, false)
	for _, c := range []struct {
		found mirror.Selection
		empty bool
	}{{fetched.Selection, false}, {mirror.Selection{}, true}} {
		if err := m.SaveSelection(c.found); err != nil {
			t.Fatal(err)
		}
		check("fetched", indexing.Registered, c.empty)
		check("indexed before", indexing.Indexed, false)
	}
}
