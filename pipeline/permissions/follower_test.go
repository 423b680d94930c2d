package permissions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a code host, a log, and the rows that result from it.
type world struct {
	t      *testing.T
	reader *Reader

	mu struct {
		sync.Mutex
		now          time.Time
		repositories map[code.RepositoryID]code.Repository
		members      map[code.RepositoryID][]string
		errs         map[code.RepositoryID]error
		reads        []code.RepositoryID
		rows         map[code.RepositoryID]*account.HostAccess
		doubts       map[account.HostDoubt]time.Time
		events       []string
		// held are events that are appended but not applied while hold is set.
		hold bool
		held []event.Event
		down bool // the log fails
	}
}

func newWorld(t *testing.T, n int) *world {
	w := &world{t: t}
	w.mu.now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	w.mu.repositories, w.mu.members, w.mu.errs = map[code.RepositoryID]code.Repository{}, map[code.RepositoryID][]string{}, map[code.RepositoryID]error{}
	w.mu.rows, w.mu.doubts = map[code.RepositoryID]*account.HostAccess{}, map[account.HostDoubt]time.Time{}
	for i := range n {
		id := code.RepositoryID(i + 1)
		w.mu.repositories[id] = code.Repository{ID: id, Name: fmt.Sprint("r", id), Connection: "hub", Private: true}
		w.mu.members[id] = []string{"1042"}
	}
	var err error
	w.reader, err = New(Options{
		Kinds: map[code.HostKind]discovery.Open{code.GitHub: func(discovery.Connection, *http.Client) (discovery.Lister, error) { return w, nil }},
		Log:   w, Catalog: w, Known: w, Now: w.now,
		Renew: func(name string) (discovery.Connection, error) {
			return discovery.Connection{Name: name, Kind: code.GitHub}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) now() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.mu.now }

func (w *world) List(context.Context, *discovery.Listing) error { return nil }

func (w *world) ReadMembers(_ context.Context, r code.Repository) (discovery.Members, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.reads = append(w.mu.reads, r.ID)
	return discovery.Members{Users: slices.Clone(w.mu.members[r.ID])}, w.mu.errs[r.ID]
}

func (w *world) Append(_ context.Context, _ event.Topic, _ int32, records ...event.Record) ([]event.Position, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.down {
		return nil, errors.New("the log is down")
	}
	for _, rec := range records {
		_, ev, err := event.Decode(rec)
		if err != nil {
			return nil, err
		}
		if w.mu.hold {
			w.mu.held = append(w.mu.held, ev)
			continue
		}
		w.applyLocked(ev)
	}
	return make([]event.Position, len(records)), nil
}

func (w *world) applyLocked(ev event.Event) {
	w.mu.rows = maps.Clone(w.mu.rows)
	switch e := ev.(type) {
	case *event.HostAccessRead:
		w.mu.events = append(w.mu.events, fmt.Sprintf("read %d %v", e.ID, e.Users))
		w.mu.rows[e.ID] = &account.HostAccess{Repository: e.ID, Connection: e.Connection, Users: e.Users, ReadAt: e.At}
	case *event.HostAccessConfirmed:
		w.mu.events = append(w.mu.events, fmt.Sprintf("confirmed %v", e.Repositories))
		for _, id := range e.Repositories {
			a := *w.mu.rows[id]
			a.ReadAt = e.At
			w.mu.rows[id] = &a
		}
	}
}

// releaseHeld applies the held events.
func (w *world) releaseHeld() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ev := range w.mu.held {
		w.applyLocked(ev)
	}
	w.mu.hold, w.mu.held = false, nil
}

func (w *world) HostAccess() (map[code.RepositoryID]*account.HostAccess, uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.rows, 0
}

func (w *world) HostDoubts() map[account.HostDoubt]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.doubts
}

type snapshot map[code.RepositoryID]code.Repository

func (s snapshot) ByID(id code.RepositoryID) (code.Repository, bool) { r, ok := s[id]; return r, ok }
func (s snapshot) PrivateMark(code.RepositoryID) event.Offset        { return 0 }
func (s snapshot) ByCloneURL(string) (code.Repository, bool)         { return code.Repository{}, false }
func (s snapshot) All() iter.Seq[code.Repository]                    { return maps.Values(s) }

func (w *world) Current(context.Context) (discovery.Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return snapshot(maps.Clone(w.mu.repositories)), nil
}

type assignment struct{ eventlog.Reader }

func (assignment) Partition() int32                           { return 0 }
func (assignment) Commit(context.Context, event.Offset) error { panic("nothing is committed") }

func (w *world) Join(ctx context.Context, _ string, _ event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	return handle(ctx, assignment{})
}

func (w *world) follower() *follower {
	return newFollower(w.reader, Connection{Name: "hub", Kind: code.GitHub, Interval: time.Hour})
}

// runFor runs the follower for d and returns its readings and the appended events.
func (w *world) runFor(f *follower, d time.Duration) (reads []code.RepositoryID, events []string) {
	w.t.Helper()
	w.mu.Lock()
	end, fromRead, fromEvent := w.mu.now.Add(d), len(w.mu.reads), len(w.mu.events)
	w.mu.Unlock()
	for steps := 0; ; steps++ {
		wait := f.runStep(w.t.Context())
		w.mu.Lock()
		w.mu.now = w.mu.now.Add(max(wait, time.Millisecond))
		over := !w.mu.now.Before(end)
		w.mu.Unlock()
		if over {
			break
		}
		if steps > 1_000_000 {
			w.t.Fatal("it never waits")
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.reads[fromRead:], w.mu.events[fromEvent:]
}

func (w *world) change(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// wantEvents compares the appended events with want.
func (w *world) wantEvents(step string, got []string, want ...string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %q, want %q", step, got, want)
	}
}

func TestChangesAreReadAndOthersConfirmed(t *testing.T) {
	w := newWorld(t, 2)
	f := w.follower()
	_, events := w.runFor(f, 5*time.Second)
	slices.Sort(events)
	w.wantEvents("at the start", events, "read 1 [1042]", "read 2 [1042]")
	w.change(func() { w.mu.members[2] = nil })
	_, events = w.runFor(f, 75*time.Minute)
	slices.Sort(events)
	w.wantEvents("an hour later", events, "confirmed [1]", "read 2 []")
	if age := w.now().Sub(w.mu.rows[1].ReadAt); age > 25*time.Minute {
		t.Errorf("what was confirmed is %v old", age)
	}
}

// TestFailuresGrantNothing checks that a failed reading changes neither the rows nor
// their age, and that one repository does not delay the rest.
func TestFailuresGrantNothing(t *testing.T) {
	w := newWorld(t, 3)
	f := w.follower()
	w.runFor(f, 5*time.Second)
	first := w.mu.rows[1].ReadAt
	w.change(func() {
		w.mu.members[1] = []string{"1042", "666"}
		w.mu.errs[1] = hostapi.NewError(hostapi.NotFound, "no such repository")
	})
	w.runFor(f, 3*time.Hour)
	if a := w.mu.rows[1]; !a.ReadAt.Equal(first) || !slices.Equal(a.Users, []string{"1042"}) {
		t.Errorf("after three hours of failures: %+v", a)
	}
	if age := w.now().Sub(w.mu.rows[2].ReadAt); age > 75*time.Minute {
		t.Errorf("another repository is %v old", age)
	}
	f.noteState()
	s := w.reader.States()[0]
	if s.Failing != 1 || s.Repositories != 3 || !s.OldestReadAt.Equal(first) || !s.LastReadAt.Equal(w.mu.rows[2].ReadAt) && !s.LastReadAt.Equal(w.mu.rows[3].ReadAt) || !s.NextAt.After(w.now()) {
		t.Errorf("state %+v", s)
	}
	if len(s.Issues) != 1 || s.Issues[0].Code != "not_found" || s.Issues[0].Target != "r1" || s.MoreIssues != 0 {
		t.Errorf("issues %+v and %d more", s.Issues, s.MoreIssues)
	}
	w.change(func() { clear(w.mu.errs) })
	w.runFor(f, time.Hour)
	f.noteState()
	if s := w.reader.States()[0]; s.Failing != 0 || len(s.Issues) != 0 || !s.OldestReadAt.After(first) {
		t.Errorf("state after the host answers again %+v", s)
	}
	if a := w.mu.rows[1]; !slices.Equal(a.Users, []string{"1042", "666"}) {
		t.Errorf("after the host answers again: %+v", a)
	}
}

// TestHostThatFailsIsPaused checks that requests to a failing host become less and less
// frequent, whatever they are for.
func TestHostThatFailsIsPaused(t *testing.T) {
	w := newWorld(t, 50)
	f := w.follower()
	w.change(func() {
		for id := range w.mu.repositories {
			w.mu.errs[id] = hostapi.NewError(hostapi.Unreachable, "connection refused")
		}
	})
	reads, events := w.runFor(f, 2*time.Hour)
	if len(events) > 0 || len(reads) < 8 || len(reads) > 25 {
		t.Errorf("%d readings and events %q in two hours", len(reads), events)
	}
	f.noteState()
	if s := w.reader.States()[0]; s.PausedUntil.IsZero() || s.NextAt.Before(s.PausedUntil) || len(s.Issues) == 0 || s.Issues[0].Code != "unreachable" || !s.OldestReadAt.IsZero() || !s.LastReadAt.IsZero() {
		t.Errorf("state %+v", s)
	}
}

// TestIssuesAreBounded has the host refuse all repositories, and the log fail for the
// connection as a whole.
func TestIssuesAreBounded(t *testing.T) {
	w := newWorld(t, maxIssues+30)
	f := w.follower()
	w.change(func() {
		for id := range w.mu.repositories {
			w.mu.errs[id] = hostapi.NewError(hostapi.Forbidden, "no push access")
		}
	})
	w.runFor(f, 2*time.Hour)
	f.noteState()
	if s := w.reader.States()[0]; len(s.Issues) != maxIssues || s.MoreIssues != 30 || s.Failing != maxIssues+30 || s.Issues[0].Target != "r1" {
		t.Errorf("%d issues and %d more of %d failing, the first %+v", len(s.Issues), s.MoreIssues, s.Failing, s.Issues[0])
	}
	f.issue = discovery.Issue{Code: discovery.LogFailed}
	f.noteState()
	if s := w.reader.States()[0]; len(s.Issues) != maxIssues || s.MoreIssues != 31 || s.Issues[0].Code != discovery.LogFailed {
		t.Errorf("with an issue of the connection: %d issues and %d more, the first %+v", len(s.Issues), s.MoreIssues, s.Issues[0])
	}
}

func TestDoubtsAreReadAtOnce(t *testing.T) {
	w := newWorld(t, 3)
	f := w.follower()
	w.runFor(f, 5*time.Second)
	doubt := func(id code.RepositoryID) {
		w.change(func() {
			w.mu.doubts = maps.Clone(w.mu.doubts)
			w.mu.doubts[account.HostDoubt{Connection: "hub", Repository: id}] = w.mu.now
			w.mu.doubts[account.HostDoubt{Connection: "other"}] = w.mu.now
			w.mu.now = w.mu.now.Add(time.Millisecond)
		})
	}
	doubt(2)
	if reads, _ := w.runFor(f, 3*time.Second); !slices.Equal(reads, []code.RepositoryID{2}) {
		t.Errorf("read %v", reads)
	}
	doubt(2)
	if reads, _ := w.runFor(f, 3*time.Second); !slices.Equal(reads, []code.RepositoryID{2}) {
		t.Errorf("read %v after a second doubt", reads)
	}
	doubt(0)
	if reads, _ := w.runFor(f, 3*time.Second); len(reads) != 3 {
		t.Errorf("read %v after a doubt about all", reads)
	}
	for range maxDoubts { // a repeated webhook
		doubt(2)
		w.runFor(f, time.Second)
	}
	doubt(2)
	doubt(3)
	if reads, _ := w.runFor(f, 3*time.Second); !slices.Equal(reads, []code.RepositoryID{3}) {
		t.Errorf("read %v after many doubts about one, and one about another", reads)
	}
	for range maxConnectionDoubts {
		doubt(0)
		w.runFor(f, time.Second)
	}
	if reads, _ := w.runFor(f, time.Minute); len(reads) != 0 {
		t.Errorf("read %v after many doubts about all", reads)
	}
	if reads, _ := w.runFor(f, doubtWindow); len(reads) != 3 {
		t.Errorf("read %v at the end of the window, want each once", reads)
	}
	again := w.follower() // after a restart: only repositories not read since
	if reads, _ := w.runFor(again, 3*time.Second); len(reads) != 0 {
		t.Errorf("read %v after a start", reads)
	}
}

// TestPendingEventsAreNotConfirmed checks that a reading that equals the rows confirms
// nothing while an event with different members is not applied yet.
func TestPendingEventsAreNotConfirmed(t *testing.T) {
	w := newWorld(t, 1)
	f := w.follower()
	w.runFor(f, 5*time.Second)
	w.change(func() { w.mu.hold, w.mu.members[1] = true, []string{"1042", "666"} })
	w.runFor(f, 70*time.Minute)
	w.change(func() { w.mu.members[1] = []string{"1042"} })
	w.runFor(f, 70*time.Minute)
	w.releaseHeld()
	w.runFor(f, time.Minute)
	if a := w.mu.rows[1]; !slices.Equal(a.Users, []string{"1042"}) {
		t.Errorf("users %v: the host took 666 away", a.Users)
	}
}

// TestPermissionsAreRevoked checks that permissions are revoked for repositories that
// were removed, became public or moved to another connection.
func TestPermissionsAreRevoked(t *testing.T) {
	w := newWorld(t, 4)
	f := w.follower()
	w.runFor(f, 10*time.Second)
	w.change(func() {
		delete(w.mu.repositories, 1)
		public, moved := w.mu.repositories[2], w.mu.repositories[3]
		public.Private, moved.Connection = false, "other"
		w.mu.repositories[2], w.mu.repositories[3] = public, moved
	})
	_, events := w.runFor(f, time.Minute)
	slices.Sort(events)
	w.wantEvents("after they left", events, "read 1 []", "read 2 []", "read 3 []")
	w.change(func() { w.mu.down, w.mu.members[4] = true, nil })
	w.runFor(f, 2*time.Hour)
	w.change(func() { w.mu.down = false })
	w.runFor(f, 80*time.Minute)
	if a := w.mu.rows[4]; len(a.Users) > 0 {
		t.Errorf("users %v after the log is back", a.Users)
	}
}

// TestReadingsAreSpread checks that many repositories are read one after another, and
// that a restart does not change the times.
func TestReadingsAreSpread(t *testing.T) {
	w := newWorld(t, 1000)
	f := w.follower()
	if reads, _ := w.runFor(f, time.Minute); len(reads) < 50 || len(reads) > 70 {
		t.Errorf("%d readings in the first minute", len(reads))
	}
	w.runFor(f, 3*time.Hour)
	if reads, _ := w.runFor(f, time.Hour); len(reads) < 800 || len(reads) > 1250 {
		t.Errorf("%d readings in an hour", len(reads))
	}
	f = w.follower()
	if reads, _ := w.runFor(f, time.Minute); len(reads) > 100 {
		t.Errorf("%d readings in the minute after a start", len(reads))
	}
}

// TestReadingsToComeAreReadAgain checks that a reading by a clock that was ahead is
// replaced soon, even by an equal one.
func TestReadingsToComeAreReadAgain(t *testing.T) {
	w := newWorld(t, 1)
	w.mu.rows[1] = &account.HostAccess{Repository: 1, Connection: "hub", Users: []string{"1042"}, ReadAt: w.mu.now.Add(1000 * time.Hour)}
	_, events := w.runFor(w.follower(), time.Minute)
	w.wantEvents("after a start", events, "read 1 [1042]")
}

// TestRun reads, changes the connections while it runs, and leaves no goroutine running.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.reader.o.Now = time.Now
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.reader.Run(ctx) }()
		synctest.Wait()
		w.reader.SetConnections([]Connection{{Name: "hub", Kind: code.GitHub, Interval: time.Hour}})
		<-time.After(2 * time.Second)
		synctest.Wait()
		if rows, _ := w.HostAccess(); rows[1] == nil || len(w.reader.States()) != 1 {
			t.Error("nothing was read")
		}
		w.reader.SetConnections(nil)
		synctest.Wait()
		if len(w.reader.States()) != 0 {
			t.Error("a connection that is gone has a state")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
