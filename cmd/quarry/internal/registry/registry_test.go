package registry

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/projections/versions/versionstest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// world holds a log, its projections, and the catalog and registrar under test.
type world struct {
	log       eventlog.Log
	versions  *versions.Versions
	catalog   *Catalog
	registrar *Registrar
	root      string // parent directory of repositories that may be registered
	hidden    map[code.RepositoryID]bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	log, v := versionstest.Open(t, 4, "")
	w := &world{log: log, versions: v, root: t.TempDir(), hidden: map[code.RepositoryID]bool{}}
	w.catalog = NewCatalog(v, func(id code.RepositoryID) bool { return !w.hidden[id] })
	w.registrar = NewRegistrar(log, mirror.Policy{Roots: []string{w.root}})
	w.registrar.SetNumbers(w)
	return w
}

// NumberRepository implements Numbers.
func (w *world) NumberRepository(context.Context, code.Repository) (code.RepositoryNumber, error) {
	return 1, nil
}

// runVersions applies the log to the projections until the test ends.
func (w *world) runVersions(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.versions.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-w.versions.Live().Runner.CaughtUp()
}

// registerDirectory registers a repository below the root and waits until it is listed.
func (w *world) registerDirectory(t *testing.T, name string) code.Repository {
	t.Helper()
	dir := filepath.Join(w.root, name)
	if out, err := exec.Command("git", "init", "--quiet", "--bare", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := code.Repository{ID: code.NewRepositoryID("test", name), Kind: code.GenericGitHost, Name: name, CloneURL: "file://" + dir}
	if _, _, err := w.registrar.Register(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := w.versions.WaitForLog(t.Context(), w.versions.Live()); err != nil {
		t.Fatal(err)
	}
	return r
}

// listNames returns the names of the repositories that the API lists.
func (w *world) listNames(t *testing.T) (names []string) {
	t.Helper()
	list, err := w.catalog.Repositories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		names = append(names, r.Name)
	}
	return names
}

// TestUnknownRepositoryWhileCatchingUpIsNoAnswer checks that a process whose projections
// were lost does not report a repository as unregistered: the host would count the push
// as delivered, and it would be lost.
func TestUnknownRepositoryWhileCatchingUpIsNoAnswer(t *testing.T) {
	w := newWorld(t)
	unknown := code.Repository{ID: 7, Name: "unknown"}
	if _, err := w.catalog.ForWebhooks().Find(t.Context(), unknown); !errors.Is(err, versions.ErrCatchingUp) || errors.Is(err, code.ErrNotFound) {
		t.Errorf("%v before the projections have caught up, want ErrCatchingUp", err)
	}
	w.runVersions(t)
	if _, err := w.catalog.ForWebhooks().Find(t.Context(), unknown); !errors.Is(err, code.ErrNotFound) {
		t.Errorf("%v afterwards, want ErrNotFound", err)
	}
}

// TestRegisteredRepositoryIsFound registers repositories, looks them up as each caller
// does, and removes one.
func TestRegisteredRepositoryIsFound(t *testing.T) {
	w := newWorld(t)
	w.runVersions(t)
	kettle, spoon := w.registerDirectory(t, "kettle"), w.registerDirectory(t, "spoon")
	for what, candidate := range map[string]code.Repository{"ID": {ID: kettle.ID}, "name": {Name: "kettle"}, "clone URL": {CloneURL: kettle.CloneURL + ".git"}} {
		if got, err := w.catalog.Find(t.Context(), candidate); err != nil || got.ID != kettle.ID {
			t.Errorf("by its %s: %+v, %v", what, got, err)
		}
	}
	snapshot, err := w.catalog.ForDiscovery().Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byID, ok1 := snapshot.ByID(spoon.ID)
	byURL, ok2 := snapshot.ByCloneURL(spoon.CloneURL)
	if n := len(slices.Collect(snapshot.All())); !ok1 || !ok2 || byID.ID != byURL.ID || n != 2 {
		t.Errorf("discovery sees %+v, %+v and %d repositories", byID, byURL, n)
	}
	if got := w.listNames(t); !slices.Equal(got, []string{"kettle", "spoon"}) {
		t.Errorf("listed %q", got)
	}
	w.hidden[w.registerDirectory(t, "cup").ID] = true
	if got := w.listNames(t); !slices.Equal(got, []string{"kettle", "spoon"}) {
		t.Errorf("listed %q, one of which has no number", got)
	}
	clear(w.hidden)
	if got := w.listNames(t); !slices.Equal(got, []string{"cup", "kettle", "spoon"}) {
		t.Errorf("listed %q once all have numbers", got)
	}
	if _, err := w.registrar.Remove(t.Context(), kettle.ID, "test"); err != nil {
		t.Fatal(err)
	}
	if err := w.versions.WaitForLog(t.Context(), w.versions.Live()); err != nil {
		t.Fatal(err)
	}
	if got := w.listNames(t); !slices.Equal(got, []string{"cup", "spoon"}) {
		t.Errorf("listed %q after a removal", got)
	}
}

// TestRefusedRepositoryIsNotRegistered checks that no event is appended for a repository
// outside the root.
func TestRefusedRepositoryIsNotRegistered(t *testing.T) {
	w := newWorld(t)
	if _, _, err := w.registrar.Register(t.Context(), code.Repository{ID: 7, Name: "etc", CloneURL: "file:///etc"}); !errors.Is(err, failure.ErrRefused) {
		t.Errorf("register a directory outside the root: %v, want %v", err, failure.ErrRefused)
	}
	if at, err := w.registrar.Reindex(t.Context(), 7, []code.Ref{"refs/heads/a", "refs/heads/b"}); err != nil || at.Offset != 1 {
		t.Errorf("the refreshes of two refs end at %+v, want offset 1 of a partition: %v", at, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := w.registrar.Refresh(ctx, 7); !errors.Is(err, failure.ErrUnavailable) {
		t.Errorf("an append that does not end in time: %v", err)
	}
}

// TestUnknownHostIsRefused tells a host that does not exist from one that cannot be
// resolved for a moment.
func TestUnknownHostIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct {
		notFound bool
		want     error
	}{{true, failure.ErrRefused}, {false, failure.ErrUnavailable}} {
		w.registrar.policy = mirror.Policy{Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: tc.notFound, IsTemporary: !tc.notFound}
		}}
		_, _, err := w.registrar.Register(t.Context(), code.Repository{ID: 8, Name: "x", CloneURL: "https://nosuchhost.example/x.git"})
		if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), "nosuchhost.example") {
			t.Errorf("not found %t: %v, want %v and the name of the host", tc.notFound, err, tc.want)
		}
	}
}
