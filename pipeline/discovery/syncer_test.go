package discovery

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a log, the state that results from it, and the code hosts.
type world struct {
	t      *testing.T
	syncer *Syncer

	mu struct {
		sync.Mutex
		registered map[code.RepositoryID]code.Repository
		events     []string
		// hosts has the repositories of each connection by path, errs the error of a
		// failing one.
		hosts map[string][]Found
		errs  map[string]error
		down  bool // the log fails
	}
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
		switch e := ev.(type) {
		case *event.RepositoryRegistered:
			w.mu.registered[e.Repository.ID] = e.Repository
			w.mu.events = append(w.mu.events, fmt.Sprintf("registered %s by %s", e.Repository.Name, e.Repository.Connection))
		case *event.RepositoryChanged:
			w.mu.registered[e.Repository.ID] = e.Repository
			w.mu.events = append(w.mu.events, fmt.Sprintf("changed %s by %s", e.Repository.Name, e.Repository.Connection))
		case *event.RepositoryRemoved:
			w.mu.events = append(w.mu.events, fmt.Sprintf("removed %s", w.mu.registered[e.Repository].Name))
			delete(w.mu.registered, e.Repository)
		}
	}
	return make([]event.Position, len(records)), nil
}

type assignment struct{ eventlog.Reader }

func (assignment) Partition() int32                           { return 0 }
func (assignment) Commit(context.Context, event.Offset) error { panic("discovery commits nothing") }

func (w *world) Join(ctx context.Context, _ string, _ event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	return handle(ctx, assignment{})
}

type snapshot map[code.RepositoryID]code.Repository

func (s snapshot) ByID(id code.RepositoryID) (code.Repository, bool) { r, ok := s[id]; return r, ok }
func (s snapshot) PrivateMark(code.RepositoryID) event.Offset        { return 0 }
func (s snapshot) All() iter.Seq[code.Repository]                    { return maps.Values(s) }
func (s snapshot) ByCloneURL(url string) (code.Repository, bool) {
	for _, r := range s {
		if r.CloneURL == url {
			return r, true
		}
	}
	return code.Repository{}, false
}

func (w *world) Current(context.Context) (Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return snapshot(maps.Clone(w.mu.registered)), nil
}

// host lists the repositories that the world has for a connection.
type host struct {
	w    *world
	name string
}

func (h host) List(_ context.Context, l *Listing) error {
	h.w.mu.Lock()
	found, err := slices.Clone(h.w.mu.hosts[h.name]), h.w.mu.errs[h.name]
	h.w.mu.Unlock()
	for i := range found {
		if !l.Add(&found[i]) {
			return nil
		}
	}
	if err != nil {
		l.Fail("target", err)
	}
	return nil
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	w := &world{t: t}
	w.mu.registered, w.mu.hosts, w.mu.errs = map[code.RepositoryID]code.Repository{}, map[string][]Found{}, map[string]error{}
	o := Options{
		Kinds: map[code.HostKind]Open{code.GitHub: func(c Connection, _ *http.Client) (Lister, error) { return host{w, c.Name}, nil }},
		Log:   w, Catalog: w, Interval: time.Hour,
		Admit: func(_ context.Context, r code.Repository) error {
			if strings.Contains(r.CloneURL, "refused") {
				return errors.New("no")
			}
			return nil
		},
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if w.syncer, err = New(o); err != nil {
		t.Fatal(err)
	}
	return w
}

func found(id int, name string) Found {
	return Found{Repository: code.Repository{
		ID: code.RepositoryID(id), Kind: code.GitHub, Name: "host/" + name, CloneURL: "https://host/" + name + ".git", DefaultBranch: "main",
	}, Path: name}
}

func makeFound(n int) (out []Found) {
	for i := range n {
		out = append(out, found(i+1, fmt.Sprintf("r%03d", i)))
	}
	return out
}

func (w *world) setHost(name string, err error, repos ...Found) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.hosts[name], w.mu.errs[name] = repos, err
}

func (w *world) setConnections(connections ...Connection) {
	var names []string
	for i := range connections {
		connections[i].Kind = code.GitHub
		names = append(names, connections[i].Name)
	}
	w.syncer.SetConnections(connections, names)
}

// wait waits and compares the new events with want, in any order.
func (w *world) wait(d time.Duration, want ...string) {
	w.t.Helper()
	<-time.After(d) // in the time of the bubble
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := slices.Sorted(slices.Values(w.mu.events))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("events %q, want %q", got, want)
	}
	w.mu.events = nil
}

func (w *world) state(name string) State {
	w.t.Helper()
	for _, st := range w.syncer.States() {
		if st.Name == name {
			return st
		}
	}
	w.t.Fatalf("there is no connection %s", name)
	return State{}
}

func (w *world) wantIssue(name string, code IssueCode) {
	w.t.Helper()
	if st := w.state(name); !slices.ContainsFunc(st.Issues, func(i Issue) bool { return i.Code == code }) {
		w.t.Errorf("%s has the issues %v, want %s", name, st.Issues, code)
	}
}

// run runs the syncer in a synctest bubble.
func (w *world) run(f func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.syncer.Run(ctx) }()
	f()
	cancel()
	if err := <-done; err != nil {
		w.t.Error(err)
	}
}

var errDown = &hostapi.Error{Code: hostapi.Unreachable}

func TestListedRepositoriesAreRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.setHost("a", nil, found(1, "o/one"), found(2, "o/two"))
		w.setConnections(Connection{Name: "a", Branches: []string{"release/*"}})
		w.run(func() {
			w.wait(time.Second, "registered host/o/one by a", "registered host/o/two by a")
			w.wait(3 * time.Hour) // no change, no event
			renamed := found(1, "p/uno")
			renamed.Archived = true
			w.setHost("a", nil, renamed, found(2, "o/two"))
			w.wait(time.Hour, "changed host/p/uno by a")
			pictured := renamed
			pictured.ImageURL = "https://pictures.example/1"
			w.setHost("a", nil, pictured, found(2, "o/two"))
			w.wait(time.Hour, "changed host/p/uno by a")
			w.setHost("a", nil, renamed, found(2, "o/two"))
			w.wait(time.Hour, "changed host/p/uno by a")
			if r := w.mu.registered[1]; r.ImageURL != "" {
				t.Errorf("the picture %q is gone on the host", r.ImageURL)
			}
			w.setConnections(Connection{Name: "a", Tags: []string{"v*"}, Submodules: true})
			w.wait(time.Second, "changed host/p/uno by a", "changed host/o/two by a")
			if r := w.mu.registered[1]; !r.Archived || len(r.Branches) != 0 || !slices.Equal(r.Tags, []string{"v*"}) || !r.Submodules {
				t.Errorf("registered as %+v", r)
			}
		})
	})
}

func TestRemovalTakesTwoWholeListings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.setHost("a", nil, found(1, "o/one"), found(2, "o/two"))
		w.setConnections(Connection{Name: "a"})
		w.run(func() {
			w.wait(time.Second, "registered host/o/one by a", "registered host/o/two by a")
			w.setHost("a", nil, found(1, "o/one"))
			w.wait(time.Hour)
			if st := w.state("a"); st.Absent != 1 {
				t.Errorf("%d repositories are absent, want 1", st.Absent)
			}
			w.setHost("a", errDown, found(1, "o/one")) // an outage in between
			w.wait(DefaultGrace)
			w.wantIssue("a", IssueCode(hostapi.Unreachable))
			w.setHost("a", nil, found(1, "o/one"))
			w.wait(minRetry+time.Second, "removed host/o/two")
			w.setHost("a", nil, found(1, "o/one"), found(2, "o/two"))
			w.wait(time.Hour, "registered host/o/two by a")
		})
	})
}

// TestSyncsByHandDoNotHurryARemoval requests syncs one after another. A repository that
// the host lacks for a moment stays until two listings Grace apart lack it, and a listing
// that has it in between starts over.
func TestSyncsByHandDoNotHurryARemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.setHost("a", nil, found(1, "o/one"), found(2, "o/two"))
		w.setConnections(Connection{Name: "a"})
		w.run(func() {
			w.wait(time.Second, "registered host/o/one by a", "registered host/o/two by a")
			w.setHost("a", nil, found(1, "o/one"))
			sync := func(pause time.Duration, want ...string) {
				w.syncer.RequestSync("a", false)
				w.wait(pause, want...)
			}
			for range 3 {
				sync(650 * time.Millisecond)
			}
			if st := w.state("a"); st.Absent != 1 {
				t.Errorf("%d repositories are absent, want 1", st.Absent)
			}
			sync(DefaultGrace - 10*time.Second)
			w.setHost("a", nil, found(1, "o/one"), found(2, "o/two")) // it is back
			sync(time.Minute)
			w.setHost("a", nil, found(1, "o/one"))
			sync(time.Second)
			sync(DefaultGrace - time.Second)
			sync(2*time.Second, "removed host/o/two")
		})
	})
}

func TestAnOutageRemovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.setHost("a", nil, found(1, "o/one"))
		w.setHost("b", nil, found(2, "o/two"))
		w.setConnections(Connection{Name: "a"}, Connection{Name: "b"})
		w.run(func() {
			w.wait(time.Second, "registered host/o/one by a", "registered host/o/two by b")
			w.setHost("a", errDown)
			two := found(2, "o/two")
			two.Private = true
			w.setHost("b", nil, two)
			w.wait(time.Hour, "changed host/o/two by b") // other connections continue
			w.wait(24 * time.Hour)
			w.wantIssue("a", IssueCode(hostapi.Unreachable))
			w.setHost("a", nil, found(1, "o/one"))
			w.wait(2 * time.Hour)
			if st := w.state("a"); len(st.Issues) > 0 {
				t.Errorf("the issues stay: %v", st.Issues)
			}
		})
	})
}

func TestMassRemovalIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		all := makeFound(40)
		w.setHost("a", nil, all...)
		w.setConnections(Connection{Name: "a", Token: "old"})
		w.run(func() {
			w.wait(time.Second, namesOf("registered", " by a", all)...)
			w.setHost("a", nil, all[:5]...) // the new token can read less
			w.setConnections(Connection{Name: "a", Token: "new"})
			w.wait(2 * time.Hour)
			w.wantIssue("a", RemovalHeld)
			w.syncer.RequestSync("a", true)
			w.wait(time.Second, namesOf("removed", "", all[5:])...)
		})
	})
}

// TestNewTargetsRemoveWithoutQuestion checks that new targets remove repositories without
// confirmation.
func TestNewTargetsRemoveWithoutQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		all := makeFound(40)
		w.setHost("a", nil, all...)
		w.setConnections(Connection{Name: "a", Targets: Targets{Orgs: []string{"o", "p"}}})
		w.run(func() {
			w.wait(time.Second, namesOf("registered", " by a", all)...)
			w.setHost("a", nil, all[:5]...)
			w.setConnections(Connection{Name: "a", Targets: Targets{Orgs: []string{"o"}}})
			w.wait(DefaultGrace+time.Second, namesOf("removed", "", all[5:])...)
		})
	})
}

func namesOf(what, by string, repos []Found) (out []string) {
	for _, r := range repos {
		out = append(out, what+" "+r.Name+by)
	}
	return out
}

func TestRemovedConnectionReleasesItsRepositories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.setHost("a", nil, found(1, "o/one"), found(2, "o/two"))
		w.setConnections(Connection{Name: "a"})
		w.run(func() {
			w.wait(time.Second, "registered host/o/one by a", "registered host/o/two by a")
			w.setHost("b", nil, found(2, "o/two"), found(3, "o/three"))
			w.setConnections(Connection{Name: "a"}, Connection{Name: "b"})
			w.wait(time.Second, "registered host/o/three by b") // both hold two
			w.setConnections(Connection{Name: "b"})
			w.syncer.RequestSync("b", false)
			w.wait(time.Second, "changed host/o/two by b", "removed host/o/one")
			w.setConnections()
			w.wait(2*time.Minute, "removed host/o/two", "removed host/o/three")
		})
	})
}

// TestRepositoryMovesToAnotherConnection checks that a repository that one connection no
// longer lists moves to another that does, and stays while that is unknown.
func TestRepositoryMovesToAnotherConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mu.registered[1] = code.Repository{ID: 1, Kind: code.GitHub, Name: "host/o/one", CloneURL: "https://host/o/one.git", DefaultBranch: "main", Connection: "a"}
		w.setHost("a", nil)
		w.setHost("b", errDown, found(1, "o/one"))
		w.setConnections(Connection{Name: "a"}, Connection{Name: "b"})
		w.run(func() {
			w.wait(2 * time.Hour)
			w.wantIssue("a", RemovalWaits)
			w.setHost("b", nil, found(1, "o/one"))
			w.wait(2*time.Hour, "changed host/o/one by b")
		})
	})
}

func TestManualRegistrationIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mu.registered[9] = code.Repository{ID: 9, Kind: code.GenericGitHost, Name: "mine", CloneURL: "https://host/o/one.git"}
		one := found(1, "o/one")
		one.Archived = true
		w.setHost("a", nil, one)
		w.setConnections(Connection{Name: "a"})
		w.run(func() {
			w.wait(time.Second, "changed mine by ")
			w.wait(2 * time.Hour)
			w.setHost("a", nil)
			w.wait(24 * time.Hour)
			if r := w.mu.registered[9]; !r.Archived || r.Kind != code.GenericGitHost || r.DefaultBranch != "main" {
				t.Errorf("registered as %+v", r)
			}
		})
	})
}

func TestBadRepositoriesDoNotStopOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		long, refused, elsewhere := found(1, "o/"+strings.Repeat("x", 600)), found(2, "o/refused"), found(3, "o/elsewhere")
		refused.CloneURL = "https://refused/o/refused.git"
		elsewhere.Invalid = errors.New("on another host")
		w.setHost("a", nil, long, refused, elsewhere, found(4, "o/good"))
		w.setConnections(Connection{Name: "a"})
		w.run(func() {
			w.wait(time.Second, "registered host/o/good by a")
			if st := w.state("a"); len(st.Issues) != 3 || st.CompleteAt.IsZero() {
				t.Errorf("issues %v, complete at %v", st.Issues, st.CompleteAt)
			}
			w.wantIssue("a", InvalidRepository)
		})
	})
}

func TestTooManyRepositories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.MaxRepositories = 3 })
		w.setHost("a", nil, makeFound(10)...)
		w.setConnections(Connection{Name: "a"})
		w.run(func() {
			w.wait(time.Second, namesOf("registered", " by a", makeFound(3))...)
			w.wantIssue("a", TooManyFound)
		})
	})
}

func TestUnavailableLogIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mu.down = true
		w.setHost("a", nil, found(1, "o/one"))
		w.setConnections(Connection{Name: "a"})
		w.run(func() {
			w.wait(time.Second)
			w.wantIssue("a", LogFailed)
			w.mu.Lock()
			w.mu.down = false
			w.mu.Unlock()
			w.wait(minRetry, "registered host/o/one by a")
		})
	})
}

func TestFilter(t *testing.T) {
	r := found(1, "acme/Tool")
	r.Topics, r.SizeBytes, r.Fork = []string{"Go", "cli"}, 5<<20, true
	for _, c := range []struct {
		name string
		f    Filter
		want bool
	}{
		{"none", Filter{}, false},
		{"forks", Filter{Forks: true}, true},
		{"archived", Filter{Archived: true}, false},
		{"glob", Filter{Repos: []string{"acme/*"}}, true},
		{"glob of a part", Filter{Repos: []string{"acme"}}, false},
		{"case", Filter{Repos: []string{"ACME/tool"}}, true},
		{"topic", Filter{Topics: []string{"g*"}}, true},
		{"too small", Filter{MinSize: 6 << 20}, true},
		{"large enough", Filter{MinSize: 5 << 20}, false},
		{"too large", Filter{MaxSize: 5<<20 - 1}, true},
	} {
		if got := c.f.Excludes(&r); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
