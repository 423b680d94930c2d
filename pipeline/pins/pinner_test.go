package pins

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// world is a catalog and a log in memory: an appended event takes effect at once, unless
// the log fails.
type world struct {
	repositories []*Repository
	version      int
	appended     []*event.PinsChanged
	err          error
	now          time.Time
}

func (w *world) Append(_ context.Context, _ event.Topic, _ int32, records ...event.Record) ([]event.Position, error) {
	if w.err != nil {
		return nil, w.err
	}
	for _, rec := range records {
		_, ev, err := event.Decode(rec)
		if err != nil {
			return nil, err
		}
		e := ev.(*event.PinsChanged)
		w.appended = append(w.appended, e)
		for _, r := range w.repositories {
			if r.ID == e.Repository {
				r.Pins = e.Commits
			}
		}
		w.version++
	}
	return make([]event.Position, len(records)), nil
}

func (w *world) Join(ctx context.Context, _ string, _ event.Topic, _ func(context.Context, eventlog.Assignment) error) error {
	return ctx.Err()
}

type worldSnapshot struct {
	version int
	list    []Repository
}

func (w *world) Current(_ context.Context, previous Snapshot) (Snapshot, error) {
	if before, ok := previous.(worldSnapshot); ok && before.version == w.version {
		return nil, nil
	}
	s := worldSnapshot{version: w.version}
	for _, r := range w.repositories {
		s.list = append(s.list, *r)
	}
	return s, nil
}

func (s worldSnapshot) All() iter.Seq[Repository] { return slices.Values(s.list) }

func (s worldSnapshot) ByCloneURL(url string) (code.RepositoryID, bool) {
	for _, r := range s.list {
		if r.CloneURL == url {
			return r.ID, true
		}
	}
	return 0, false
}

func (w *world) add(name string, submodules bool, listed ...code.Submodule) *Repository {
	r := &Repository{Listed: listed}
	r.ID, r.Name, r.CloneURL, r.Submodules = code.RepositoryID(len(w.repositories)+1), name, "https://git.example/"+name, submodules
	w.repositories, w.version = append(w.repositories, r), w.version+1
	return r
}

func commit(n int) code.CommitID { return code.CommitID(fmt.Sprintf("%040x", n+1)) }

func newSubmodule(name string, n int) code.Submodule {
	return code.Submodule{CloneURL: "https://git.example/" + name, Commit: commit(n)}
}

// TestPinsFollowTheParents changes, disables and removes parents, and checks the pins of
// the child after each round.
func TestPinsFollowTheParents(t *testing.T) {
	w := &world{now: time.Unix(1_000_000, 0)}
	child := w.add("child", false)
	p, err := New(Options{Log: w, Catalog: w, Now: func() time.Time { return w.now }})
	if err != nil {
		t.Fatal(err)
	}
	round := func(what string, events int, want ...code.CommitID) {
		t.Helper()
		before := len(w.appended)
		if err := p.runRound(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := len(w.appended) - before; got != events || !slices.Equal(child.Pins, want) {
			t.Errorf("%s: %d events, pins %v; want %d, %v", what, got, child.Pins, events, want)
		}
	}
	round("no parent", 0)
	parent := w.add("parent", true, newSubmodule("child", 2), newSubmodule("child", 1), newSubmodule("child", 1), newSubmodule("elsewhere", 3))
	w.add("off", false, newSubmodule("child", 9))
	round("a parent", 1, commit(1), commit(2))
	round("no change", 0, commit(1), commit(2))
	parent.Listed, w.version = parent.Listed[:1], w.version+1
	round("another change at once", 0, commit(1), commit(2))
	w.now = w.now.Add(DefaultChildInterval)
	round("the change, later", 1, commit(2))
	w.now = w.now.Add(DefaultChildInterval)
	w.err, parent.Submodules, w.version = errors.New("log is down"), false, w.version+1
	if err := p.runRound(t.Context()); !errors.Is(err, w.err) {
		t.Errorf("a round without a log: %v", err)
	}
	w.err = nil
	round("the option is off", 1)
	parent.Submodules, w.version, w.now = true, w.version+1, w.now.Add(DefaultChildInterval)
	round("the option is on again", 1, commit(2))
	w.repositories, w.version, w.now = w.repositories[:1], w.version+1, w.now.Add(DefaultChildInterval)
	round("the parent is removed", 1)
}

// TestPinsAreBounded checks which commits are pinned if parents need too many, and that
// the choice is stable.
func TestPinsAreBounded(t *testing.T) {
	w := &world{now: time.Unix(1_000_000, 0)}
	child := w.add("child", false)
	list := func(from, to int) (out []code.Submodule) {
		for n := from; n < to; n++ {
			out = append(out, newSubmodule("child", n))
		}
		return out
	}
	first := w.add("first", true, list(100, 200)...)
	registry := prometheus.NewPedanticRegistry()
	p, err := New(Options{Log: w, Catalog: w, Now: func() time.Time { return w.now }, Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	round := func() []code.CommitID {
		t.Helper()
		w.now = w.now.Add(DefaultChildInterval)
		if err := p.runRound(t.Context()); err != nil {
			t.Fatal(err)
		}
		return child.Pins
	}
	before := round()
	if len(before) != event.MaxPins {
		t.Fatalf("%d pins, want %d", len(before), event.MaxPins)
	}
	w.add("second", true, list(0, 50)...)
	if after := round(); !slices.Equal(after, before) {
		t.Errorf("the commits of a second parent displaced pins: %v", after)
	}
	if left := testutil.ToFloat64(p.metrics.leftOut); left != 50 {
		t.Errorf("left out %g, want 50", left)
	}
	w.add("third", true, list(0, 10)...)
	after := round()
	if !slices.Equal(after[:10], []code.CommitID{commit(0), commit(1), commit(2), commit(3), commit(4), commit(5), commit(6), commit(7), commit(8), commit(9)}) || len(after) != event.MaxPins {
		t.Errorf("commits that two parents need do not come first: %v", after)
	}
	first.Listed, w.version = nil, w.version+1
	if after := round(); len(after) != 50 {
		t.Errorf("%d pins once the first parent needs none, want 50", len(after))
	}
}
