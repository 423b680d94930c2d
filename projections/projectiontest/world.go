package projectiontest

import (
	"context"
	"crypto/sha1"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// World is a naive model of the repositories on code hosts, held in maps, and of the
// worker that indexes them: each step changes the model and returns the records that a
// worker would append.
type World struct {
	Rand       *rand.Rand
	Objects    segmentstore.Store
	Partitions int32
	// Repositories are the registered repositories.
	Repositories map[code.RepositoryID]*Repository
	// Segments holds the documents of each segment. Held counts, by partition, the live
	// segments that hold a document.
	Segments map[segment.ID][]code.DocumentKey
	Held     []map[code.DocumentKey]int
	// Broken counts the appended events that cannot be applied.
	Broken int
	// Faithful guarantees that every document of a revision comes with it or is already
	// held.
	Faithful bool

	t       testing.TB
	dir     string
	next    []event.Offset
	last    []event.Record // RevisionIndexed events to repeat
	texts   map[code.DocumentKey][]byte
	serial  int
	builder *segment.Builder
}

// Repository is a registered repository.
type Repository struct {
	code.Repository
	Partition int32
	Refs      map[code.Ref]*Ref
}

// Ref is a ref of a repository.
type Ref struct {
	Commit     code.CommitID
	CommitTime time.Time
	Files      map[string]File
}

// File is the content of a path.
type File struct {
	Key     code.DocumentKey
	Flags   code.Flags
	Size    int64
	Skipped code.SkipReason
}

// NewWorld returns an empty world that stores its objects in objects.
func NewWorld(t testing.TB, seed uint64, partitions int32, objects segmentstore.Store) *World {
	w := &World{
		Rand: rand.New(rand.NewPCG(seed, 1)), Objects: objects, Partitions: partitions,
		Repositories: map[code.RepositoryID]*Repository{}, Segments: map[segment.ID][]code.DocumentKey{},
		t: t, dir: t.TempDir(), next: make([]event.Offset, partitions), texts: map[code.DocumentKey][]byte{},
		builder: segment.NewBuilder(segment.Options{}),
	}
	for range partitions {
		w.Held = append(w.Held, map[code.DocumentKey]int{})
	}
	return w
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// eventTime returns the time of the next event, which depends only on the number of
// events so far.
func (w *World) eventTime() time.Time { return start.Add(time.Duration(w.serial) * time.Second) }

// Append returns the record of ev at the end of a partition.
func (w *World) Append(partition int32, ev event.Event) event.Record {
	w.t.Helper()
	w.serial++
	rec, err := event.Encode(event.Envelope{ID: fmt.Sprintf("event-%d", w.serial), Source: "/projectiontest", Time: w.eventTime()}, ev)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.placeRecord(partition, rec)
}

// placeRecord puts a record at the end of a partition, sometimes after a gap in the
// offsets.
func (w *World) placeRecord(partition int32, rec event.Record) event.Record {
	rec.Position = event.Position{Topic: event.TopicEvents, Partition: partition, Offset: w.next[partition]}
	rec.Time = w.eventTime()
	w.next[partition] += 1 + event.Offset(w.Rand.IntN(2))
	return rec
}

// Document returns the key of document n, whose text is derived from n.
func (w *World) Document(n int) code.DocumentKey {
	text := fmt.Appendf(nil, "package p%d\n\nfunc f%d() int { return %d }\n", n, n, n*n)
	k := code.DocumentKey{Blob: sha1.Sum(text), Language: []code.Language{"Go", "C", ""}[n%3]}
	w.texts[k] = text
	return k
}

// Text returns the text of a document that Document created.
func (w *World) Text(k code.DocumentKey) []byte { return w.texts[k] }

// Segment builds a segment of the documents and stores it in the segment store.
func (w *World) Segment(partition int32, documents []code.DocumentKey) event.SegmentRef {
	w.t.Helper()
	w.serial++
	w.builder.Reset(segment.Options{Seed: fmt.Appendf(nil, "%d/%d", partition, w.serial)})
	for _, k := range documents {
		if err := w.builder.Add(segment.Document{Key: k, Text: w.texts[k]}); err != nil {
			w.t.Fatal(err)
		}
	}
	path := filepath.Join(w.dir, fmt.Sprintf("segment-%d", w.serial))
	meta, err := w.builder.Finish(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.Objects.Put(context.Background(), segmentstore.SegmentName(meta.ID), path); err != nil {
		w.t.Fatal(err)
	}
	w.Segments[meta.ID] = documents
	return event.SegmentRef{ID: meta.ID.String(), SizeBytes: meta.SizeBytes, TextBytes: meta.TextBytes, Documents: meta.Documents}
}

// Hold records that a segment became live (delta 1) or was dropped (delta -1).
func (w *World) Hold(partition int32, id string, delta int) {
	parsed, err := segment.ParseID(id)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, k := range w.Segments[parsed] {
		if w.Held[partition][k] += delta; w.Held[partition][k] == 0 {
			delete(w.Held[partition], k)
		}
	}
}

// Register registers a repository, or registers it again.
func (w *World) Register(n int) event.Record {
	id := code.NewRepositoryID("host", fmt.Sprint(n))
	name := fmt.Sprintf("host/repository-%d", n)
	repo := code.Repository{ID: id, Kind: code.GitHub, Name: name, CloneURL: "https://" + name + ".git"}
	if known := w.Repositories[id]; known != nil {
		repo.DefaultBranch = known.DefaultBranch
		known.Repository = repo
		known.Repository.DisplayName = fmt.Sprint("again ", w.serial)
		repo = known.Repository
	} else {
		w.Repositories[id] = &Repository{Repository: repo, Partition: int32(n) % w.Partitions, Refs: map[code.Ref]*Ref{}}
	}
	return w.Append(w.Repositories[id].Partition, &event.RepositoryRegistered{Repository: repo, At: w.eventTime()})
}

// PartitionOf returns the partition of a repository of a world with n partitions.
func PartitionOf(id code.RepositoryID, n int32) int32 {
	for i := int32(0); ; i++ {
		if code.NewRepositoryID("host", fmt.Sprint(i)) == id {
			return i % n
		}
	}
}

// Remove removes a repository.
func (w *World) Remove(r *Repository) event.Record {
	delete(w.Repositories, r.ID)
	return w.Append(r.Partition, &event.RepositoryRemoved{Repository: r.ID, At: w.eventTime()})
}

// ChangeDefault makes another branch the default.
func (w *World) ChangeDefault(r *Repository, branch string) event.Record {
	r.DefaultBranch = branch
	return w.Append(r.Partition, &event.RepositoryChanged{Repository: r.Repository, At: w.eventTime()})
}

// Index moves a ref to files and returns the Push and the RevisionIndexed. base is the
// revision that the changes are relative to, or nil for a full manifest. If files is nil,
// it deletes the ref. known reports whether a segment already holds a document.
func (w *World) Index(r *Repository, ref code.Ref, files map[string]File, base *code.Ref, known func(code.DocumentKey) bool) []event.Record {
	push := w.Append(r.Partition, &event.Push{Repository: r.ID, Ref: ref, Action: event.ActionUpdated, ReceivedAt: w.eventTime()})
	ev := &event.RevisionIndexed{Repository: r.ID, Ref: ref, Cause: push.Position, PushedAt: w.eventTime(), IndexedAt: w.eventTime().Add(time.Millisecond)}
	if r.DefaultBranch != "" && w.Rand.IntN(2) == 0 {
		ev.DefaultBranch = r.DefaultBranch
	}
	if files != nil {
		ev.Commit = code.CommitID(fmt.Sprintf("%040x", w.serial))
		ev.CommitTime = w.eventTime().Add(-time.Duration(w.Rand.IntN(1000)) * time.Minute)
	}
	var before map[string]File
	if base != nil && files != nil {
		ev.BaseRef, ev.BaseCommit = *base, r.Refs[*base].Commit
		before = r.Refs[*base].Files
	}
	ev.Changes = Changes(before, files)
	w.addMissingSegments(r, ev, known)
	return w.finishIndex(r, push, ev, files)
}

// IndexWith is an Index with segments that the caller has built.
func (w *World) IndexWith(r *Repository, ref code.Ref, files map[string]File, base *code.Ref, segments []event.SegmentRef) []event.Record {
	push := w.Append(r.Partition, &event.Push{Repository: r.ID, Ref: ref, Action: event.ActionUpdated, ReceivedAt: w.eventTime()})
	ev := &event.RevisionIndexed{
		Repository: r.ID, Ref: ref, Cause: push.Position, PushedAt: w.eventTime(), IndexedAt: w.eventTime(), CommitTime: w.eventTime(),
		Commit: code.CommitID(fmt.Sprintf("%040x", w.serial)), Segments: segments,
	}
	var before map[string]File
	if base != nil {
		ev.BaseRef, ev.BaseCommit, before = *base, r.Refs[*base].Commit, r.Refs[*base].Files
	}
	ev.Changes = Changes(before, files)
	for _, s := range segments {
		w.Hold(r.Partition, s.ID, 1)
	}
	return w.finishIndex(r, push, ev, files)
}

// finishIndex appends the event and moves the ref of the model.
func (w *World) finishIndex(r *Repository, push event.Record, ev *event.RevisionIndexed, files map[string]File) []event.Record {
	w.offloadChanges(ev)
	ref := ev.Ref
	if files == nil {
		delete(r.Refs, ref)
	} else {
		r.Refs[ref] = &Ref{Commit: ev.Commit, CommitTime: ev.CommitTime, Files: files}
		if r.DefaultBranch == "" && ref.IsBranch() {
			r.DefaultBranch = ref.Short()
		}
	}
	rec := w.Append(r.Partition, ev)
	w.last = append(w.last, rec)
	return []event.Record{push, rec}
}

// Changes returns the changes between two states of a ref.
func Changes(before, after map[string]File) []event.Change {
	var changes []event.Change
	paths := maps.Clone(before)
	if paths == nil {
		paths = map[string]File{}
	}
	maps.Copy(paths, after)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		a, inA := before[path]
		b, inB := after[path]
		switch {
		case inA && !inB:
			changes = append(changes, event.Change{Path: path})
		case !inA || a != b:
			changes = append(changes, event.Change{Path: path, Blob: b.Key.Blob, Language: b.Key.Language, Flags: b.Flags, Skipped: b.Skipped, SizeBytes: b.Size})
		}
	}
	return changes
}

// addMissingSegments builds segments with those documents of the changes that are not
// known.
func (w *World) addMissingSegments(r *Repository, ev *event.RevisionIndexed, known func(code.DocumentKey) bool) {
	var documents []code.DocumentKey
	for _, c := range ev.Changes {
		k := code.DocumentKey{Blob: c.Blob, Language: c.Language}
		if c.Skipped == "" && c.Blob != (code.BlobID{}) && !slices.Contains(documents, k) && !known(k) {
			documents = append(documents, k)
		}
	}
	for len(documents) > 0 {
		n := 1 + w.Rand.IntN(len(documents))
		ref := w.Segment(r.Partition, documents[:n])
		ev.Segments = append(ev.Segments, ref)
		w.Hold(r.Partition, ref.ID, 1)
		documents = documents[n:]
	}
}

// offloadChanges sometimes moves the changes to an object.
func (w *World) offloadChanges(ev *event.RevisionIndexed) {
	if len(ev.Changes) <= event.MaxInlineChanges && w.Rand.IntN(4) != 0 {
		return
	}
	name, b, err := segmentstore.EncodeChanges(ev.Changes)
	if err == nil {
		err = w.Objects.PutBytes(context.Background(), name, b)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	ev.Changes, ev.ChangesObject = nil, name
}

// Repeat returns an earlier RevisionIndexed again, as a worker writes it after a crash
// between appending and committing. It returns false if there is none.
func (w *World) Repeat() (event.Record, bool) {
	if len(w.last) == 0 {
		return event.Record{}, false
	}
	rec := w.last[w.Rand.IntN(len(w.last))]
	return w.placeRecord(rec.Position.Partition, rec), true
}

// WrongBase returns an event whose base revision does not exist.
func (w *World) WrongBase(r *Repository, ref code.Ref) []event.Record {
	push := w.Append(r.Partition, &event.Push{Repository: r.ID, Ref: ref, Action: event.ActionUpdated, ReceivedAt: w.eventTime()})
	w.Broken++
	return []event.Record{push, w.Append(r.Partition, &event.RevisionIndexed{
		Repository: r.ID, Ref: ref, Cause: push.Position, PushedAt: w.eventTime(), IndexedAt: w.eventTime(),
		Commit: code.CommitID(fmt.Sprintf("%040x", 1<<40+w.serial)), BaseRef: ref, BaseCommit: code.CommitID(fmt.Sprintf("%040x", 1<<41+w.serial)),
		Changes: []event.Change{{Path: "broken", Blob: code.BlobID{1}}},
	})}
}
