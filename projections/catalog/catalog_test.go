package catalog_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type rig struct {
	t       *testing.T
	catalog *catalog.Catalog
	applier *projectiontest.Applier
	world   *projectiontest.World
}

func open(t *testing.T, m *storetest.Memory, objects segmentstore.Store) *rig {
	t.Helper()
	s, err := store.Open("store", store.Options{FileSystem: m.FileSystem()})
	must(t, err)
	d := projections.NewDecoder(objects)
	c, err := catalog.Open(catalog.Options{Store: s, Decoder: d})
	must(t, err)
	t.Cleanup(func() {
		c.Close()
		must(t, s.Close())
	})
	return &rig{t: t, catalog: c, applier: &projectiontest.Applier{Store: s, Decoder: d, Projections: []projections.Projection{c}}}
}

func newRig(t *testing.T, seed uint64) *rig {
	objects, err := segmentstore.OpenDirectory(t.TempDir())
	must(t, err)
	r := open(t, storetest.NewMemory(), objects)
	r.world = projectiontest.NewWorld(t, seed, 2, objects)
	return r
}

func (r *rig) apply(records ...event.Record) {
	r.t.Helper()
	for _, rec := range records {
		must(r.t, r.applier.Apply(context.Background(), rec))
	}
}

func TestConformance(t *testing.T) {
	r := newRig(t, 21)
	var records []event.Record
	for range 60 {
		_, more := r.world.Step()
		records = append(records, more...)
		for _, id := range slices.Sorted(maps.Keys(r.world.Repositories))[:min(1, len(r.world.Repositories))] {
			partition := r.world.Repositories[id].Partition
			last, next := upload(id, "", len(records)), upload(id, "", len(records)+1)
			records = append(records, r.world.Append(partition, last), r.world.Append(partition, newScipDeletion(id, last.Object)), r.world.Append(partition, next))
		}
	}
	projectiontest.Conform(t, records, r.world.Objects, func(t *testing.T, s *store.Store, _ segmentstore.Store, d *projections.Decoder) ([]projections.Projection, func()) {
		c, err := catalog.Open(catalog.Options{Store: s, Decoder: d})
		must(t, err)
		return []projections.Projection{c}, c.Close
	})
}

// TestAgainstModel compares snapshot and refs with the model after every step.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(2) {
		r := newRig(t, seed)
		for i := range 100 {
			what, records := r.world.Step()
			r.apply(records...)
			if err := r.check(); err != nil {
				t.Fatalf("seed %d, step %d, %s: %v", seed, i, what, err)
			}
		}
	}
}

func (r *rig) check() error {
	s := r.catalog.Snapshot()
	if s.Len() != len(r.world.Repositories) {
		return fmt.Errorf("%d repositories, want %d", s.Len(), len(r.world.Repositories))
	}
	for id, want := range r.world.Repositories {
		got, ok := s.ByID(id)
		if !ok || got.Name != want.Name || got.DefaultBranch != want.DefaultBranch || got.DisplayName != want.DisplayName {
			return fmt.Errorf("repository %s: %+v, want %+v", id, got, want.Repository)
		}
		refs, err := r.catalog.Refs(id)
		if err != nil {
			return err
		}
		var pushed time.Time
		for _, ref := range refs {
			w := want.Refs[ref.Ref]
			if w == nil || w.Commit != ref.Commit || !w.CommitTime.Equal(ref.CommitTime) {
				return fmt.Errorf("%s of %s at %s, want %+v", ref.Ref, got.Name, ref.Commit, w)
			}
			if ref.CommitTime.After(pushed) {
				pushed = ref.CommitTime
			}
		}
		if len(refs) != len(want.Refs) || got.Refs != len(refs) || !got.PushedAt.Equal(pushed) {
			return fmt.Errorf("%s: %d refs counted as %d, want %d; pushed at %v, want %v", got.Name, len(refs), got.Refs, len(want.Refs), got.PushedAt, pushed)
		}
	}
	return checkOrder(s)
}

func checkOrder(s *catalog.Snapshot) error {
	byName := s.ByName()
	if len(byName) != s.Len() {
		return fmt.Errorf("%d by name, want %d", len(byName), s.Len())
	}
	for i := 1; i < s.Len(); i++ {
		if byName[i-1].Name > byName[i].Name {
			return fmt.Errorf("repository %d is out of order", i)
		}
	}
	for _, r := range byName {
		if got, ok := s.FindByName(r.Name); !ok || got.Name != r.Name {
			return fmt.Errorf("%s is not found by its name", r.Name)
		}
	}
	return nil
}

func repository(id code.RepositoryID, name string) code.Repository {
	return code.Repository{ID: id, Kind: code.GitHub, Name: name, CloneURL: "https://" + name + ".git"}
}

func TestCollisionIsRefused(t *testing.T) {
	r := newRig(t, 1)
	r.apply(r.world.Append(0, &event.RepositoryRegistered{Repository: repository(7, "github.com/a/b"), At: time.Unix(1, 0)}))
	r.apply(r.world.Append(0, &event.RepositoryRegistered{Repository: repository(7, "git.example.com/x/y"), At: time.Unix(2, 0)}))
	got, ok := r.catalog.Snapshot().ByID(7)
	if !ok || got.Name != "github.com/a/b" {
		t.Fatalf("%+v", got)
	}
	renamed := repository(7, "github.com/c/d")
	r.apply(r.world.Append(0, &event.RepositoryChanged{Repository: renamed, At: time.Unix(3, 0)}))
	if _, ok := r.catalog.Snapshot().FindByName("github.com/a/b"); ok {
		t.Fatal("the old name is still there")
	}
	if got, ok = r.catalog.Snapshot().FindByName("github.com/c/d"); !ok || !got.ChangedAt.Equal(time.Unix(3, 0)) || !got.RegisteredAt.Equal(time.Unix(1, 0)) {
		t.Fatalf("%+v", got)
	}
}

func TestSnapshotsDoNotChange(t *testing.T) {
	r := newRig(t, 1)
	r.apply(r.world.Append(0, &event.RepositoryRegistered{Repository: repository(1, "host/b"), At: time.Unix(1, 0)}))
	before := r.catalog.Snapshot()
	names := func(list []*catalog.Repository) string {
		var b strings.Builder
		for _, r := range list {
			b.WriteString(r.Name + " ")
		}
		return b.String()
	}
	r.apply(r.world.Append(0, &event.RepositoryRegistered{Repository: repository(2, "host/A"), At: time.Unix(1, 0)}))
	r.apply(r.world.Append(1, &event.RepositoryRegistered{Repository: repository(3, "host/c"), At: time.Unix(1, 0)}))
	if got := names(before.ByName()); got != "host/b " {
		t.Fatalf("the old snapshot shows %s, want \"host/b \"", got)
	}
	now := r.catalog.Snapshot()
	if got := names(now.ByName()); got != "host/A host/b host/c " {
		t.Fatalf("the new snapshot shows %s, want \"host/A host/b host/c \"", got)
	}
	if _, err := r.catalog.Refs(99); err == nil {
		t.Fatal("an unknown repository has refs")
	}
}

// TestChangedSince compares snapshots of a random history, adjacent ones and distant
// ones, with a comparison of all their repositories.
func TestChangedSince(t *testing.T) {
	r := newRig(t, 4)
	snapshots := []*catalog.Snapshot{nil, r.catalog.Snapshot()}
	for range 60 {
		_, records := r.world.Step()
		for _, rec := range records {
			before := r.catalog.Snapshot()
			r.apply(rec)
			after := r.catalog.Snapshot()
			if superseded := isClosed(before.Superseded()); superseded != (before != after) || isClosed(after.Superseded()) {
				t.Fatalf("behind %s: the snapshot before is superseded: %v, and there is a later one: %v", rec.Position, superseded, before != after)
			}
		}
		snapshots = append(snapshots, r.catalog.Snapshot())
	}
	for i, earlier := range snapshots {
		for _, s := range snapshots[i:] {
			if s == nil {
				continue
			}
			var want []*catalog.Repository
			for _, known := range s.ByName() {
				if earlier != nil {
					if was, found := earlier.ByID(known.ID); found && was == known {
						continue
					}
				}
				want = append(want, known)
			}
			got := s.ChangedSince(earlier)
			slices.SortFunc(got, catalog.CompareNames)
			if !slices.Equal(got, want) {
				t.Fatalf("since snapshot %d: %d repositories changed, want %d", i, len(got), len(want))
			}
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func newScipDeletion(id code.RepositoryID, object string) *event.ScipDeleted {
	return &event.ScipDeleted{Repository: id, Object: object, At: time.Unix(8, 0)}
}

// upload returns upload n of a path.
func upload(id code.RepositoryID, path string, n int) *event.ScipUploaded {
	return &event.ScipUploaded{
		Repository: id, Commit: code.CommitID(fmt.Sprintf("%040x", n+1)), Path: path, Object: fmt.Sprintf("scip-%d", n), Tool: "scip-go",
		Keep: 2, At: time.Unix(int64(n), 0).UTC(),
	}
}

// TestUploadsAreKept checks that the newest two uploads of each path are kept, that an
// upload replaces one of the same commit, that a deletion drops the upload that it names, and
// that an erasure and a removal drop all.
func TestUploadsAreKept(t *testing.T) {
	r := newRig(t, 1)
	objects := func() (out []string) {
		if known, ok := r.catalog.Snapshot().ByID(7); ok {
			for _, u := range known.ScipUploads {
				out = append(out, u.Object)
			}
		}
		return out
	}
	apply := func(ev event.Event, want ...string) {
		t.Helper()
		r.apply(r.world.Append(0, ev))
		if got := objects(); !slices.Equal(got, want) {
			t.Errorf("after %T: %v, want %v", ev, got, want)
		}
	}
	again := upload(7, "", 2)
	again.Object = "scip-again"
	registered := &event.RepositoryRegistered{Repository: repository(7, "github.com/a/b"), At: time.Unix(1, 0)}
	apply(upload(7, "", 0))
	apply(registered)
	apply(upload(7, "", 1), "scip-1")
	apply(upload(7, "", 2), "scip-2", "scip-1")
	apply(upload(7, "cmd", 3), "scip-3", "scip-2", "scip-1")
	apply(upload(7, "", 4), "scip-4", "scip-3", "scip-2")
	apply(again, "scip-again", "scip-4", "scip-3")
	apply(registered, "scip-again", "scip-4", "scip-3")
	apply(newScipDeletion(7, "scip-4"), "scip-again", "scip-3")
	apply(newScipDeletion(7, "scip-4"), "scip-again", "scip-3")
	apply(newScipDeletion(7, "scip-2"), "scip-again", "scip-3") // replaced before
	apply(newScipDeletion(8, "scip-3"), "scip-again", "scip-3") // of another repository
	apply(upload(7, "", 4), "scip-4", "scip-again", "scip-3")
	apply(newScipDeletion(7, "scip-again"), "scip-4", "scip-3")
	apply(&event.ErasureRequested{Repository: 7, Path: "secret", At: time.Unix(9, 0)})
	apply(upload(7, "", 5), "scip-5")
	for n := range event.MaxScipUploads + 5 {
		r.apply(r.world.Append(0, upload(7, fmt.Sprintf("d%d", n), n)))
	}
	if got := objects(); len(got) != event.MaxScipUploads {
		t.Errorf("%d uploads are kept", len(got))
	}
	apply(&event.RepositoryRemoved{Repository: 7, At: time.Unix(10, 0)})
	apply(registered)
}

// TestSubmodulesAndPins checks that lists replace each other, survive a change of the
// repository and a reopened store, and end with the repository.
func TestSubmodulesAndPins(t *testing.T) {
	r := newRig(t, 5)
	anvil := repository(7, "anvil")
	registered := r.world.Append(0, &event.RepositoryRegistered{Repository: anvil})
	commits := []code.CommitID{code.CommitID(strings.Repeat("1", 40)), code.CommitID(strings.Repeat("2", 40))}
	list := func(cause event.Position, modules ...code.Submodule) event.Record {
		return r.world.Append(0, &event.SubmodulesListed{Repository: 7, Submodules: modules, Cause: cause})
	}
	check := func(what string, modules, pins int) {
		t.Helper()
		got, ok := r.catalog.Snapshot().ByID(7)
		if !ok || len(got.ListedSubmodules) != modules || len(got.Pins) != pins {
			t.Errorf("%s: %+v, want %d submodules and %d pins", what, got, modules, pins)
		}
	}
	one, two := code.Submodule{CloneURL: "https://git.example/a", Commit: commits[0]}, code.Submodule{CloneURL: "https://git.example/b", Commit: commits[1]}
	r.apply(registered, list(registered.Position, one, two), r.world.Append(0, &event.PinsChanged{Repository: 7, Commits: commits}))
	check("lists", 2, 2)
	anvil.Description = "changed"
	r.apply(r.world.Append(0, &event.RepositoryChanged{Repository: anvil}), list(registered.Position, one))
	check("a change", 1, 2)
	r.apply(r.world.Append(0, &event.PinsChanged{Repository: 7, Commits: []code.CommitID{}}))
	check("no pins", 1, 0)
	r.apply(r.world.Append(0, &event.RepositoryRemoved{Repository: 7}), list(registered.Position, one), r.world.Append(0, &event.PinsChanged{Repository: 7, Commits: commits}))
	if got, ok := r.catalog.Snapshot().ByID(7); ok {
		t.Errorf("after its removal: %+v", got)
	}
	r.apply(r.world.Append(0, &event.RepositoryRegistered{Repository: anvil}), list(registered.Position, one))
	check("a list from before the removal", 0, 0)
}
