package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench drives an Indexer over a real log, real git and a real segment store, and keeps
// the state that results from its events.
type bench struct {
	t       testing.TB
	dir     string
	x       *Indexer
	log     *embeddedlog.Log
	store   *segmentstore.Directory
	mirrors *mirror.Mirrors
	metrics *prometheus.Registry // the mirrors' metrics
	policy  mirror.Policy        // the mirrors' policy
	repo    *gittest.Repository
	code    code.Repository
	// assigned is the Indexer that the partition was assigned to.
	assigned *Indexer

	read event.Offset
	refs map[code.Ref]map[string]event.Change
	docs map[code.DocumentKey][]byte
	// causes and commits are those of the last event of each ref.
	causes  map[code.Ref]event.Offset
	commits map[code.Ref]code.CommitID
	last    *event.RevisionIndexed
	count   int
}

func newBench(t testing.TB, branches ...string) *bench {
	b := &bench{t: t, causes: map[code.Ref]event.Offset{}, commits: map[code.Ref]code.CommitID{}, dir: t.TempDir(), repo: gittest.New(t), refs: map[code.Ref]map[string]event.Change{}, docs: map[code.DocumentKey][]byte{}}
	b.code = b.repo.Code("r", branches...)
	var err error
	if b.log, err = embeddedlog.Open(filepath.Join(b.dir, "log"), embeddedlog.Options{Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.log.Close() })
	if b.store, err = segmentstore.OpenDirectory(filepath.Join(b.dir, "segments")); err != nil {
		t.Fatal(err)
	}
	b.metrics = prometheus.NewRegistry()
	b.policy = mirror.Policy{Schemes: []string{"file"}, Roots: []string{b.repo.Dir, filepath.Join(b.dir, "clones")}}
	b.mirrors, err = mirror.Open(t.Context(), mirror.Options{
		Registerer: b.metrics,
		Dir:        filepath.Join(b.dir, "mirrors"), Policy: b.policy, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.mirrors.Close() })
	b.x, err = New(Options{
		Log: b.log, Mirrors: b.mirrors, Analyzer: analyze.New(analyze.Options{OutlineTimeout: -1}), Segments: b.store, TempDir: b.dir, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// handle appends an event, handles it, and applies the resulting events.
func (b *bench) handle(ev event.Event) error {
	b.t.Helper()
	return b.deliver(b.append(ev))
}

// append appends an event to the log and returns its record.
func (b *bench) append(ev event.Event) event.Record {
	b.t.Helper()
	b.count++
	rec, err := event.Encode(event.Envelope{ID: fmt.Sprint("test-", b.count), Source: "/test", Time: time.Unix(1, 0)}, ev)
	if err != nil {
		b.t.Fatal(err)
	}
	at, err := b.log.Append(b.t.Context(), event.TopicEvents, eventlog.AnyPartition, rec)
	if err != nil {
		b.t.Fatal(err)
	}
	rec.Position = at[0]
	return rec
}

// deliver handles records as a worker does, and applies the resulting events.
func (b *bench) deliver(records ...event.Record) error {
	b.t.Helper()
	if b.assigned != b.x {
		if err := b.x.Assigned(b.t.Context(), records[0].Position); err != nil {
			b.t.Fatal(err)
		}
		b.assigned = b.x
	}
	var err error
	for len(records) > 0 && err == nil {
		var n int
		if n, err = b.x.Handle(b.t.Context(), records); err == nil {
			b.x.Committed(records[n-1])
			records = records[n:]
		}
	}
	b.apply()
	return err
}

func (b *bench) must(ev event.Event) {
	b.t.Helper()
	if err := b.handle(ev); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) push(branch string) {
	b.t.Helper()
	b.must(&event.Push{Repository: b.code.ID, Ref: code.BranchRef(branch), Action: event.ActionUpdated, ReceivedAt: time.Unix(2, 0)})
}

// apply reads and applies new events.
func (b *bench) apply() {
	b.t.Helper()
	high, err := b.log.HighWater(b.t.Context(), event.TopicEvents)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := b.log.Tail(b.t.Context(), event.TopicEvents, 0, b.read)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	b.last = nil
	for b.read < high[0] {
		rec, err := r.Next(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		b.read = rec.Position.Offset + 1
		_, ev, err := event.Decode(rec)
		if err != nil {
			b.t.Fatal(err)
		}
		if ev, ok := ev.(*event.RevisionIndexed); ok && ev.Repository == b.code.ID {
			b.checkRevision(ev)
		}
	}
}

func (b *bench) checkRevision(ev *event.RevisionIndexed) {
	b.t.Helper()
	b.last = ev
	if ev.Cause.Offset < b.causes[ev.Ref] {
		b.t.Errorf("%s at %s is overtaken: its cause is %d, the last was %d", ev.Ref, ev.Commit, ev.Cause.Offset, b.causes[ev.Ref])
	}
	if ev.Commit != "" && ev.BaseRef != "" && ev.BaseCommit != b.commits[ev.BaseRef] {
		b.t.Errorf("%s at %s builds on %s at %s, which is at %s", ev.Ref, ev.Commit, ev.BaseRef, ev.BaseCommit, b.commits[ev.BaseRef])
	}
	b.causes[ev.Ref], b.commits[ev.Ref] = ev.Cause.Offset, ev.Commit
	for _, ref := range ev.Segments {
		b.readSegment(ref)
	}
	if ev.Commit == "" {
		delete(b.refs, ev.Ref)
		return
	}
	manifest := map[string]event.Change{}
	for path, c := range b.refs[ev.BaseRef] {
		manifest[path] = c
	}
	changes := ev.Changes
	if ev.ChangesObject != "" {
		object, err := b.store.GetBytes(b.t.Context(), ev.ChangesObject, 1<<30)
		if err == nil {
			changes, err = segmentstore.DecodeChanges(object)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	for _, c := range changes {
		delete(manifest, c.Path)
		if c.Blob != (code.BlobID{}) || c.Skipped != "" {
			manifest[c.Path] = c
		}
	}
	b.refs[ev.Ref] = manifest
}

func (b *bench) readSegment(ref event.SegmentRef) {
	b.t.Helper()
	b.openSegment(ref, func(f *segment.File, keys []code.DocumentKey) {
		for i, k := range keys {
			var err error
			if b.docs[k], err = f.Text(segment.DocID(i), nil); err != nil {
				b.t.Fatal(err)
			}
		}
	})
}

// openSegment calls visit with a segment of the store and the keys of its documents.
func (b *bench) openSegment(ref event.SegmentRef, visit func(*segment.File, []code.DocumentKey)) {
	b.t.Helper()
	id, err := segment.ParseID(ref.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(b.t.TempDir(), "s")
	if err := b.store.Fetch(b.t.Context(), segmentstore.SegmentName(id), path); err != nil {
		b.t.Fatal(err)
	}
	f, err := segment.OpenFile(path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	keys, err := f.Keys()
	if err != nil || len(keys) != ref.Documents {
		b.t.Fatalf("%d keys, want %d: %v", len(keys), ref.Documents, err)
	}
	visit(f, keys)
}

// check verifies that the manifests equal the repository and that a segment holds every
// document that they name.
func (b *bench) check(branches ...string) {
	b.t.Helper()
	if len(b.refs) != len(branches) {
		b.t.Fatalf("%d refs are indexed, want %v", len(b.refs), branches)
	}
	for _, branch := range branches {
		got := b.refs[code.BranchRef(branch)]
		lines := b.listTree(branch)
		if len(got) != len(lines) {
			b.t.Fatalf("%s has %d paths, want %d", branch, len(got), len(lines))
		}
		for _, line := range lines {
			meta, path, _ := strings.Cut(line, "\t")
			c, ok := got[path]
			if !ok {
				b.t.Fatalf("%s: %s is missing", branch, path)
			}
			if c.Skipped != "" {
				continue
			}
			if !strings.HasSuffix(meta, c.Blob.String()) {
				b.t.Fatalf("%s: %s is %s, want %s", branch, path, c.Blob, meta)
			}
			if _, ok := b.docs[code.DocumentKey{Blob: c.Blob, Language: c.Language}]; !ok {
				b.t.Fatalf("%s: %s (%s) is in no segment", branch, path, c.Language)
			}
		}
	}
}

// listedTrees has the result of listTree for each commit: the name of a commit determines
// its tree, and tests check the same commits again and again.
var listedTrees sync.Map

// listTree returns the files of a branch, as git ls-tree does.
func (b *bench) listTree(branch string) []string {
	b.t.Helper()
	commit := b.repo.CommitOf(string(code.BranchRef(branch)))
	if lines, listed := listedTrees.Load(commit); listed {
		return lines.([]string)
	}
	lines := strings.FieldsFunc(b.repo.Git("ls-tree", "-r", "-z", string(commit)), func(r rune) bool { return r == 0 })
	listedTrees.Store(commit, lines)
	return lines
}

func (b *bench) registerRepository() {
	b.t.Helper()
	b.must(&event.RepositoryRegistered{Repository: b.code, At: time.Unix(1, 0)})
}

func TestImportAndPushes(t *testing.T) {
	t.Parallel()
	b := newBench(t, "dev*")
	b.repo.CommitFiles("a.go", "package a\n\nfunc A() {}\n", "dir/b.c", "int b;\n", "bin", "\x00\x01\x02", "empty", "", "utf16.txt", "\xff\xfeh\x00i\x00")
	b.registerRepository()
	b.check("main")
	main := b.refs["refs/heads/main"]
	if main["bin"].Skipped != code.SkipBinary || main["a.go"].Language != "Go" {
		t.Fatalf("%+v", main)
	}
	if text := b.docs[code.DocumentKey{Blob: main["utf16.txt"].Blob, Language: main["utf16.txt"].Language}]; string(text) != "hi" {
		t.Fatalf("UTF-16 text is %q", text)
	}

	b.repo.CommitFiles("a.go", "package a\n\nfunc B() {}\n")
	b.push("main")
	b.check("main")
	if len(b.last.Changes) != 1 || b.last.Segments[0].Documents != 1 || b.last.BaseRef != "refs/heads/main" || !b.last.PushedAt.Equal(time.Unix(2, 0)) {
		t.Fatalf("a push of one file says %+v", b.last)
	}
	b.push("main")
	if b.last != nil {
		t.Fatalf("the same push again says %+v", b.last)
	}

	b.repo.Git("mv", "a.go", "moved.go")
	b.repo.Commit()
	b.push("main")
	b.check("main")
	if len(b.last.Segments) != 0 {
		t.Fatalf("a rename built %v", b.last.Segments)
	}
	b.repo.Git("mv", "dir/b.c", "dir/b.go")
	b.repo.Commit()
	b.push("main")
	b.check("main")
	if len(b.last.Segments) != 1 {
		t.Fatal("the same bytes in another language built nothing")
	}

	b.repo.Git("checkout", "--quiet", "-b", "dev1")
	b.repo.CommitFiles("new.py", "x = 1\n")
	b.push("dev1")
	b.check("main", "dev1")
	if len(b.last.Changes) != 1 || b.last.BaseRef != "refs/heads/main" {
		t.Fatalf("a new branch says %+v", b.last)
	}
	b.repo.Git("branch", "other")
	b.push("other")
	b.check("main", "dev1")

	b.repo.Git("checkout", "--quiet", "main")
	b.repo.Git("reset", "--quiet", "--hard", "HEAD~2")
	b.repo.CommitFiles("forced", "yes\n")
	b.push("main")
	b.check("main", "dev1")

	b.repo.Git("branch", "-D", "dev1")
	b.push("dev1")
	b.check("main")
	b.push("dev1")
	b.push("never-there")
	b.check("main")
}

func TestLostMirrorAndRemoval(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo.CommitFiles("a", "1\n", "b", "2\n")
	b.registerRepository()
	b.loseMirrors()
	b.repo.CommitFiles("c", "3\n")
	b.push("main")
	b.check("main")
	if b.last.BaseCommit != "" || len(b.last.Changes) != 3 {
		t.Fatalf("after the loss of the mirror: %+v", b.last)
	}
	b.must(&event.RepositoryRemoved{Repository: b.code.ID, At: time.Unix(3, 0)})
	b.push("main")
	if b.last != nil {
		t.Fatalf("a removed repository says %+v", b.last)
	}
}

func TestFailuresAreClassified(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.code.CloneURL = "/elsewhere/outside"
	err := b.handle(&event.RepositoryRegistered{Repository: b.code, At: time.Unix(1, 0)})
	if !errors.Is(err, worker.ErrPermanent) {
		t.Fatalf("a path outside the roots: %v, want %v", err, worker.ErrPermanent)
	}
	if s, ok := b.x.Status(b.code.ID); !ok || s.Running || s.Code == "" {
		t.Fatalf("status %+v", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.x.Handle(ctx, []event.Record{{}}); !errors.Is(err, worker.ErrPermanent) {
		t.Fatalf("a record that is no event: %v", err)
	}
}

func TestUnits(t *testing.T) {
	for range 200 {
		items, total := make([]item, 1+rand.IntN(500)), int64(0)
		for i := range items {
			items[i].size = rand.Int64N(4 << 20)
			total += items[i].size
		}
		next := 0
		for _, u := range cutUnits(items, total, segment.DefaultMaxTextBytes) {
			size := int64(0)
			for i := range u {
				if &u[i] != &items[next] {
					t.Fatal("units are not the items in order")
				}
				next++
				size += u[i].size
			}
			if size > segment.DefaultMaxTextBytes/16*unitShare+4<<20 {
				t.Fatalf("a unit of %d bytes", size)
			}
		}
		if next != len(items) {
			t.Fatalf("%d of %d items are in units", next, len(items))
		}
	}
}
