package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// fork returns a bench of a clone under another name, which is handled by the same
// Indexer. Both benches know the documents.
func (b *bench) fork(name string) *bench {
	b.t.Helper()
	return b.relative(name, b.repo.Clone(filepath.Join(b.dir, "clones", name)))
}

func (b *bench) relative(name string, repo *gittest.Repository) *bench {
	b.t.Helper()
	f := *b
	f.repo, f.count = repo, 1000*(1+len(name))
	f.code = repo.Code(name, b.code.Branches...)
	f.causes, f.commits, f.refs = map[code.Ref]event.Offset{}, map[code.Ref]code.CommitID{}, map[code.Ref]map[string]event.Change{}
	return &f
}

// TestForkCostsWhatIsNew registers clones of a repository and pushes files that other
// clones have to each of them.
func TestForkCostsWhatIsNew(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0), "picture.bin", "\x00"+largeText(9), "dir/b.go", largeText(1))
	branchAt(b.repo, "old", "main")
	b.repo.CommitFiles("old.go", largeText(2))
	b.repo.Git("checkout", "--quiet", "main")
	b.registerRepository()
	f, second := b.fork("fork"), b.fork("second")
	for _, clone := range []*bench{f, second} {
		clone.repo.Git("branch", "old", "origin/old")
		if c := clone.measureCosts(clone.registerRepository); c.documents != 0 || c.readBytes > 20_000 {
			t.Errorf("a clone: %d documents, %d bytes read", c.documents, c.readBytes)
		}
		clone.check("main", "old")
	}
	f.repo.CommitFiles("c.go", largeText(3))
	if c := f.measureCosts(func() { f.push("main") }); c.documents != 1 {
		t.Errorf("a new file of a fork made %d documents", c.documents)
	}
	second.repo.CommitFiles("elsewhere/c.go", largeText(3))
	b.repo.CommitFiles("c.go", largeText(3))
	for _, clone := range []*bench{second, b} {
		if c := clone.measureCosts(func() { clone.push("main") }); c.documents != 0 || c.readBytes > 20_000 {
			t.Errorf("what a fork has: %d documents, %d bytes read", c.documents, c.readBytes)
		}
	}
	f.check("main", "old")
	second.check("main", "old")
	b.check("main", "old")

	// In another language, it is a different document.
	second.repo.CommitFiles("c.py", largeText(3))
	if c := second.measureCosts(func() { second.push("main") }); c.documents != 1 {
		t.Errorf("a file of a fork in another language made %d documents", c.documents)
	}
}

// TestStrangersAreNoFamily indexes two repositories with a common file but no common
// history.
func TestStrangersAreNoFamily(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0))
	b.registerRepository()
	other := b.relative("other", gittest.New(t))
	other.repo.CommitFiles("unlike", "this\n")
	other.repo.CommitFiles("a.go", largeText(0))
	other.repo.Git("clone", "--quiet", other.repo.Dir, filepath.Join(b.dir, "clones", "other"))
	other.code.CloneURL = filepath.Join(b.dir, "clones", "other")
	if c := other.measureCosts(other.registerRepository); c.documents != 2 {
		t.Errorf("a repository without relatives made %d documents, want 2", c.documents)
	}
	other.check("main")
}

// TestRepositoryJoinsAFamilyLater registers a repository without commits, and one whose
// history is replaced by that of another.
func TestRepositoryJoinsAFamilyLater(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0), "b.go", largeText(1))
	b.registerRepository()
	empty := b.relative("empty", b.repo.Clone(filepath.Join(b.dir, "clones", "empty")))
	empty.repo.Git("update-ref", "-d", "HEAD")
	empty.must(&event.RepositoryRegistered{Repository: empty.code, At: time.Unix(1, 0)})
	if _, known := empty.mirrors.Mirror(empty.code.ID).Family(); known {
		t.Error("a repository without a branch has a family")
	}
	empty.repo.Git("reset", "--quiet", "--hard", "origin/main")
	if c := empty.measureCosts(func() { empty.push("main") }); c.documents != 0 {
		t.Errorf("a history that is a relative's made %d documents", c.documents)
	}
	empty.check("main")

	changed := b.relative("changed", b.repo.Clone(filepath.Join(b.dir, "clones", "changed")))
	changed.repo.Git("checkout", "--quiet", "--orphan", "new")
	changed.repo.CommitFiles("c.go", largeText(2))
	changed.repo.Git("branch", "--force", "main", "new")
	changed.repo.Git("checkout", "--quiet", "main")
	changed.repo.Git("branch", "-D", "new")
	changed.registerRepository()
	changed.repo.Git("reset", "--quiet", "--hard", "origin/main")
	changed.must(&event.RepositoryChanged{Repository: changed.code, At: time.Unix(3, 0)})
	changed.repo.CommitFiles("d.go", largeText(1))
	if c := changed.measureCosts(func() { changed.push("main") }); c.documents != 0 {
		t.Errorf("a copy of a file made %d documents", c.documents)
	}
	if got, want := family(t, changed), family(t, b); got != want || got == "" {
		t.Errorf("the family is %q, want %q", got, want)
	}
}

func family(t *testing.T, b *bench) code.CommitID {
	t.Helper()
	root, err := b.x.familyOf(b.code.ID)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestRemovedRelativeIsNotReliedOn checks that once the log contains the removal of a
// repository, its documents are not relied on, whether or not the worker has handled the
// removal: a merge may drop them.
func TestRemovedRelativeIsNotReliedOn(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(b *bench){
		"handled":     func(b *bench) { b.must(&event.RepositoryRemoved{Repository: b.code.ID, At: time.Unix(3, 0)}) },
		"not handled": func(b *bench) { b.append(&event.RepositoryRemoved{Repository: b.code.ID, At: time.Unix(3, 0)}) },
		"handled elsewhere": func(b *bench) {
			// This process did not hold the partition, and still has the mirror.
			b.append(&event.RepositoryRemoved{Repository: b.code.ID, At: time.Unix(3, 0)})
			x, err := New(b.x.o)
			if err != nil {
				t.Fatal(err)
			}
			b.x = x
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "**")
			b.repo.CommitFiles("a.go", largeText(0))
			b.registerRepository()
			f := b.fork("fork")
			f.registerRepository()
			b.repo.CommitFiles("b.go", largeText(1))
			b.push("main")
			remove(b)
			f.x = b.x
			f.repo.CommitFiles("b.go", largeText(1))
			if c := f.measureCosts(func() { f.push("main") }); c.documents != 1 {
				t.Errorf("what only a removed relative had made %d documents", c.documents)
			}
			f.check("main")
		})
	}
}

// changingStore runs a function once, before the next segment is stored.
type changingStore struct {
	segmentstore.Store
	change func()
	// failure is the error of the next call of Put, once.
	failure error
}

func (s *changingStore) Put(ctx context.Context, name, path string) error {
	if f := s.change; f != nil {
		s.change = nil
		f()
	}
	if err := s.failure; err != nil {
		s.failure = nil
		return err
	}
	return s.Store.Put(ctx, name, path)
}

// TestRelativeGivesUpWhatABatchReliesOn has a relative lose a file, keep it, or be
// removed, between the search for known documents and the append.
func TestRelativeGivesUpWhatABatchReliesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change    func(b *bench)
		documents int
	}{
		"gives it up": {func(b *bench) {
			b.repo.Git("reset", "--quiet", "--hard", "HEAD~1")
			b.push("main")
		}, 2},
		"keeps it": {func(b *bench) {
			b.repo.CommitFiles("c.go", largeText(3))
			b.push("main")
		}, 1},
		"is removed": {func(b *bench) { b.append(&event.RepositoryRemoved{Repository: b.code.ID, At: time.Unix(3, 0)}) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "**")
			store := &changingStore{Store: b.store}
			b.x.o.Segments = store
			b.repo.CommitFiles("a.go", largeText(0))
			b.registerRepository()
			f := b.fork("fork")
			f.registerRepository()
			b.repo.CommitFiles("b.go", largeText(1))
			b.push("main")
			f.repo.CommitFiles("b.go", largeText(1), "new.go", largeText(2))
			store.change = func() { c.change(b) }
			documents := 0
			f.push("main")
			for _, s := range f.last.Segments {
				documents += s.Documents
			}
			if documents != c.documents {
				t.Errorf("%d documents, want %d", documents, c.documents)
			}
			f.check("main")
			unannounced, err := f.mirrors.Mirror(f.code.ID).UnannouncedSegments()
			if err != nil || len(unannounced) > 0 {
				t.Errorf("segments that nothing names: %v, %v", unannounced, err)
			}
		})
	}
}

// TestClonesRegisteredAtOnceShare registers a clone before the first import of its
// original has announced anything: the clone waits and adds no document twice. An import
// that fails does not block the rest.
func TestClonesRegisteredAtOnceShare(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"imported": nil, "failed": errors.New("the store is full")} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "**")
			waits := make(chan struct{}, 1)
			b.x.o.Logger = slog.New(&waitHandler{Handler: slog.DiscardHandler, seen: waits})
			store := &changingStore{Store: b.store}
			b.x.o.Segments = store
			b.repo.CommitFiles("a.go", largeText(0), "b.go", largeText(1))
			first, clone := b, b.fork("clone")
			firstEvent := first.append(&event.RepositoryRegistered{Repository: first.code, At: time.Unix(1, 0)})
			cloneEvent := clone.append(&event.RepositoryRegistered{Repository: clone.code, At: time.Unix(1, 0)})
			var group sync.WaitGroup
			store.change = func() {
				group.Go(func() {
					if _, err := b.x.Handle(t.Context(), []event.Record{cloneEvent}); err != nil {
						t.Errorf("import the clone: %v", err)
					}
				})
				select {
				case <-waits:
				case <-clocktest.NewContext(t).Done():
					t.Error("the clone does not wait for the first import of its original")
				}
				store.failure = failure
			}
			if _, err := b.x.Handle(t.Context(), []event.Record{firstEvent}); !errors.Is(err, failure) {
				t.Fatalf("import the original: %v, want %v", err, failure)
			}
			group.Wait()
			if failure != nil {
				if _, err := b.x.Handle(t.Context(), []event.Record{firstEvent}); err != nil {
					t.Fatal(err)
				}
			}
			documents := 0
			b.scanLog(0, func(_ event.Record, ev event.Event) {
				if r, ok := ev.(*event.RevisionIndexed); ok {
					for _, s := range r.Segments {
						documents += s.Documents
					}
				}
			})
			if documents != 2 {
				t.Errorf("%d documents of two files in two clones, want 2", documents)
			}
			first.apply()
			clone.apply()
			first.check("main")
			clone.check("main")
		})
	}
}

// waitHandler reports when an import begins to wait.
type waitHandler struct {
	slog.Handler
	seen chan struct{}
}

func (*waitHandler) Enabled(context.Context, slog.Level) bool { return true }

func (w *waitHandler) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "waiting for the first import") {
		w.seen <- struct{}{}
	}
	return nil
}

// TestFamilyMembersIndexAtOnce has many relatives add and remove the same and different
// files concurrently: no manifest names a document that no segment holds.
func TestFamilyMembersIndexAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0))
	b.registerRepository()
	members := []*bench{b, b.fork("fork1"), b.fork("fork2"), b.fork("fork3")}
	for _, m := range members[1:] {
		m.registerRepository()
	}
	for round := range 6 {
		var group sync.WaitGroup
		records := make([]event.Record, len(members))
		for i, m := range members {
			m.repo.Git("rm", "--quiet", "-r", "--cached", ".")
			m.repo.CommitFiles("b.go", largeText(10+(round+i)%3), "c.go", largeText(20+round), "d.go", largeText(30+(round+2*i)%4))
			records[i] = m.append(m.pushOf("main", int64(10+round)))
		}
		for i := range members {
			group.Go(func() {
				if _, err := b.x.Handle(t.Context(), records[i:i+1]); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for _, m := range members {
			m.apply()
		}
		for _, m := range members {
			m.check("main")
		}
	}
	b.checkLive(members)
}

// checkLive replays the log like a reader that drops a document as soon as no manifest
// names it, and checks that every document is held when it is named.
func (b *bench) checkLive(members []*bench) {
	b.t.Helper()
	type ref struct {
		repo code.RepositoryID
		ref  code.Ref
	}
	held, counts := map[code.DocumentKey]bool{}, map[code.DocumentKey]int{}
	manifests := map[ref]map[string]code.DocumentKey{}
	b.scanLog(0, func(rec event.Record, ev event.Event) {
		r, ok := ev.(*event.RevisionIndexed)
		if !ok {
			return
		}
		for _, s := range r.Segments {
			b.openSegment(s, func(_ *segment.File, keys []code.DocumentKey) {
				for _, k := range keys {
					held[k] = true
				}
			})
		}
		at := ref{r.Repository, r.Ref}
		manifest := manifests[at]
		if manifest == nil {
			manifest = map[string]code.DocumentKey{}
			manifests[at] = manifest
		}
		for _, c := range r.Changes {
			if old, ok := manifest[c.Path]; ok {
				counts[old]--
				delete(manifest, c.Path)
			}
			if c.Blob != (code.BlobID{}) {
				k := code.DocumentKey{Blob: c.Blob, Language: c.Language}
				if !held[k] {
					b.t.Errorf("at %s, %s of %d names a document that nobody has", rec.Position, c.Path, r.Repository)
				}
				manifest[c.Path] = k
				counts[k]++
			}
		}
		for k, n := range counts {
			if n == 0 {
				delete(counts, k)
				delete(held, k)
			}
		}
	})
	if len(counts) == 0 {
		b.t.Errorf("%d members have nothing", len(members))
	}
}

// TestManyRootsCostNothing indexes a history that is merged from many others.
func TestManyRootsCostNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	first := b.repo.CommitFiles("a.go", largeText(0))
	head := string(first)
	for i := range 50 {
		root := b.repo.Git("commit-tree", "main^{tree}", "-m", fmt.Sprint("root ", i))
		head = b.repo.Git("commit-tree", "main^{tree}", "-p", head, "-p", root, "-m", "m")
	}
	b.repo.Git("update-ref", "refs/heads/main", head)
	b.registerRepository()
	if got := family(t, b); got != first {
		t.Errorf("the family is %s, want that of the first parents, %s", got, first)
	}
}

// TestFamiliesOutliveAProcess opens another Indexer over the same mirrors, which knows
// the members in the order of joining, and shares documents.
func TestFamiliesOutliveAProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0))
	members := []*bench{b}
	for _, name := range []string{"z", "fork", "a"} {
		members = append(members, b.fork(name))
	}
	for i, m := range members {
		m.registerRepository()
		then := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(m.mirrors.Mirror(m.code.ID).File("family"), then, then); err != nil {
			t.Fatal(err)
		}
	}
	x, err := New(b.x.o)
	if err != nil {
		t.Fatal(err)
	}
	root := family(t, b)
	for _, m := range members {
		m.x = x
	}
	if got := family(t, members[2]); got != root {
		t.Errorf("the family is %q after a restart, want %q", got, root)
	}
	for i, id := range x.families.mu.members[root] {
		if id != members[i].code.ID {
			t.Errorf("member %d is %d, want %d", i, id, members[i].code.ID)
		}
	}
	b.repo.CommitFiles("b.go", largeText(1))
	b.push("main")
	members[3].repo.CommitFiles("c.go", largeText(1))
	if c := members[3].measureCosts(func() { members[3].push("main") }); c.documents != 0 {
		t.Errorf("what a relative has made %d documents after a restart", c.documents)
	}
}

// TestOtherPartitionsAreNotReliedOn has relatives whose documents are in other
// partitions.
func TestOtherPartitionsAreNotReliedOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	log, err := embeddedlog.Open(filepath.Join(b.dir, "log4"), embeddedlog.Options{Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { err = errors.Join(err, log.Close()) })
	o := b.x.o
	o.Log, o.Logger = log, slog.New(slog.DiscardHandler)
	if b.x, err = New(o); err != nil {
		t.Fatal(err)
	}
	b.repo.CommitFiles("a.go", largeText(0))
	partitionOf := func(id code.RepositoryID) int32 { return eventlog.PartitionOf(event.RecordKey(id), 4) }
	f := b.fork("fork")
	names := map[bool]string{} // by whether the relative is in the same partition
	for _, name := range []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12"} {
		names[partitionOf(code.NewRepositoryID("test", name)) == partitionOf(b.code.ID)] = name
	}
	index := func(r code.Repository) (documents int) {
		t.Helper()
		b.count++
		rec, err := event.Encode(event.Envelope{ID: r.Name, Source: "/test", Time: time.Unix(1, 0)}, &event.RepositoryRegistered{Repository: r, At: time.Unix(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		at, err := log.Append(t.Context(), event.TopicEvents, eventlog.AnyPartition, rec)
		if err != nil {
			t.Fatal(err)
		}
		rec.Position = at[0]
		if err := b.x.Assigned(t.Context(), at[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := b.x.Handle(t.Context(), []event.Record{rec}); err != nil {
			t.Fatal(err)
		}
		tail, err := log.Tail(t.Context(), event.TopicEvents, at[0].Partition, at[0].Offset+1)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tail.Close() }()
		next, err := tail.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, ev, err := event.Decode(next)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range ev.(*event.RevisionIndexed).Segments {
			documents += s.Documents
		}
		return documents
	}
	if n := index(b.code); n != 1 {
		t.Fatalf("%d documents", n)
	}
	for same, want := range map[bool]int{true: 0, false: 1} {
		r := f.code
		r.ID, r.Name = code.NewRepositoryID("test", names[same]), names[same]
		if n := index(r); n != want {
			t.Errorf("a fork in the same partition, %v: %d documents, want %d", same, n, want)
		}
	}
}
