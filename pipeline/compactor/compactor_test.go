package compactor

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site consists of a log and a segment store, with a worker that builds segments.
type site struct {
	testing.TB
	ctx   context.Context
	log   *embeddedlog.Log
	store *segmentstore.Directory
	rng   *rand.Rand
	// documents are all documents ever indexed.
	documents map[code.DocumentKey]segment.Document
	pushes    int
}

func newSite(t testing.TB, seed uint64) *site {
	t.Helper()
	s := &site{TB: t, ctx: clocktest.NewContext(t), rng: rand.New(rand.NewPCG(seed, 3)), documents: map[code.DocumentKey]segment.Document{}}
	var err error
	s.log, err = embeddedlog.Open(filepath.Join(t.TempDir(), "log"), embeddedlog.Options{Partitions: 2})
	s.check(err)
	t.Cleanup(func() { _ = s.log.Close() })
	s.store, err = segmentstore.OpenDirectory(filepath.Join(t.TempDir(), "segments"))
	s.check(err)
	return s
}

func (s *site) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// push builds a segment of the documents and appends the worker's event.
func (s *site) push(partition int32, documents ...segment.Document) segment.ID {
	s.Helper()
	s.pushes++
	b := segment.NewBuilder(segment.Options{Seed: fmt.Appendf(nil, "push %d", s.pushes)})
	for _, d := range documents {
		s.check(b.Add(d))
		s.documents[d.Key] = d
	}
	path := filepath.Join(s.TempDir(), "segment")
	meta, err := b.Finish(path)
	s.check(err)
	s.check(s.store.Put(s.ctx, segmentstore.SegmentName(meta.ID), path))
	s.append(partition, &event.RevisionIndexed{
		Repository: 1, Ref: "refs/heads/main", Commit: "0123456789012345678901234567890123456789",
		Segments: []event.SegmentRef{{ID: meta.ID.String(), SizeBytes: meta.SizeBytes, TextBytes: meta.TextBytes, Documents: meta.Documents}},
		Cause:    event.Position{Topic: event.TopicEvents, Partition: partition},
	})
	return meta.ID
}

func (s *site) append(partition int32, ev event.Event) {
	s.Helper()
	rec, err := event.Encode(event.Envelope{ID: fmt.Sprint("test", s.rng.Uint64()), Source: "/test"}, ev)
	s.check(err)
	_, err = s.log.Append(s.ctx, event.TopicEvents, partition, rec)
	s.check(err)
}

// document returns a small document, so that pushes are of one tier.
func (s *site) document() segment.Document { return s.documentOf(s.rng.IntN(8)) }

// anyDocument returns a document of any size up to 64 KiB.
func (s *site) anyDocument() segment.Document { return s.documentOf(s.rng.IntN(1 << s.rng.IntN(12))) }

func (s *site) documentOf(lines int) segment.Document {
	text := fmt.Appendf(nil, "// document %d\n", s.rng.Uint64())
	for range lines {
		text = append(text, "func Alpha(naïve int) { return }\n"...)
	}
	d := segment.Document{Text: text, Flags: code.Flags(s.rng.IntN(16))}
	d.Key = code.DocumentKey{Blob: sha1.Sum(text), Language: []code.Language{"Go", "C", ""}[s.rng.IntN(3)]}
	for at, line := 0, uint32(1); ; line++ {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			return d
		}
		if i := bytes.Index(text[at:at+end], []byte("Alpha")); i >= 0 {
			d.Symbols = append(d.Symbols, code.Symbol{
				Name: "Alpha", Kind: "function", Parent: "main", ParentKind: "package", Offset: uint32(at + i), Line: line, EndLine: line,
			})
		}
		at += end + 1
	}
}

// mirror is the projection in these tests: it tracks the segments of a partition and the
// dead documents. It refuses merges as places does.
type mirror struct {
	s         *site
	partition int32
	reader    eventlog.Reader
	next      event.Offset
	segments  []segment.ID // in order of arrival
	keys      map[segment.ID][]code.DocumentKey
	outputs   map[segment.ID]event.SegmentRef
	origins   map[segment.ID][]code.RepositoryID // of the outputs of divisions
	indexed   int
	merges    int
	refused   int
	// state is the compactor's state after the same records.
	state *state
	mu    struct {
		sync.Mutex
		dead map[code.DocumentKey]bool
		// readers are those of documents that not all callers may read.
		readers map[code.DocumentKey]Reader
		// late are the documents revived after a View was taken.
		late []code.DocumentKey
	}
}

func newMirror(s *site, partition int32) *mirror {
	reader, err := s.log.Tail(s.ctx, event.TopicEvents, partition, 0)
	s.check(err)
	m := &mirror{s: s, partition: partition, state: newState(partition, false), reader: reader, keys: map[segment.ID][]code.DocumentKey{}, outputs: map[segment.ID]event.SegmentRef{}, origins: map[segment.ID][]code.RepositoryID{}}
	m.mu.dead, m.mu.readers = map[code.DocumentKey]bool{}, map[code.DocumentKey]Reader{}
	s.Cleanup(func() { _ = reader.Close() })
	return m
}

func (m *mirror) killDocuments(keys ...code.DocumentKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		m.mu.dead[k] = true
	}
}

func (m *mirror) isDead(k code.DocumentKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.dead[k]
}

// readTo applies the records below next.
func (m *mirror) readTo(ctx context.Context, next event.Offset) error {
	for m.next < next {
		if err := m.readNext(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (m *mirror) readNext(ctx context.Context) error {
	rec, err := m.reader.Next(ctx)
	if err != nil {
		return err
	}
	m.next = rec.Position.Offset + 1
	m.state.read(rec)
	_, ev, err := event.Decode(rec)
	if err != nil {
		return err
	}
	switch e := ev.(type) {
	case *event.RevisionIndexed:
		m.indexed++
		for _, ref := range e.Segments {
			if err := m.add(ctx, ref); err != nil {
				return err
			}
		}
	case *event.SegmentsMerged:
		return m.apply(ctx, e)
	}
	return nil
}

func (m *mirror) add(ctx context.Context, ref event.SegmentRef) error {
	id, err := segment.ParseID(ref.ID)
	if err != nil {
		return err
	}
	if slices.Contains(m.segments, id) {
		return nil
	}
	err = m.s.open(ctx, id, func(f *segment.File) (err error) {
		m.keys[id], err = f.Keys()
		return err
	})
	if errors.Is(err, code.ErrNotFound) {
		return nil // absent
	}
	m.segments = append(m.segments, id)
	return err
}

func (m *mirror) apply(ctx context.Context, ev *event.SegmentsMerged) error {
	before := slices.Clone(m.segments)
	m.merges++
	for _, output := range ev.AllOutputs() {
		m.outputs[m.id(output.ID)] = output
		if err := m.add(ctx, output); err != nil {
			return err
		}
	}
	for _, output := range ev.Outputs {
		m.origins[m.id(output.Segment.ID)] = output.Origins
	}
	m.segments = slices.DeleteFunc(m.segments, func(id segment.ID) bool { return slices.Contains(ev.Inputs, id.String()) })
	held := m.heldDocuments()
	for _, id := range before {
		for _, k := range m.keys[id] {
			if !held[k] && !m.isDead(k) {
				m.segments = before
				m.refused++
				return nil
			}
		}
	}
	return nil
}

func (m *mirror) id(s string) segment.ID {
	id, err := segment.ParseID(s)
	m.s.check(err)
	return id
}

func (m *mirror) heldDocuments() map[code.DocumentKey]bool {
	held := map[code.DocumentKey]bool{}
	for _, id := range m.segments {
		for _, k := range m.keys[id] {
			held[k] = true
		}
	}
	return held
}

// open opens a segment of the store and passes it to use.
func (s *site) open(ctx context.Context, id segment.ID, use func(*segment.File) error) error {
	path := filepath.Join(s.TempDir(), id.String())
	if err := s.store.Fetch(ctx, segmentstore.SegmentName(id), path); err != nil {
		return err
	}
	f, err := segment.OpenFile(path, nil)
	if err != nil {
		return err
	}
	return errors.Join(use(f), f.Close(), os.Remove(path))
}

// At implements Liveness; the compactor calls it from one goroutine.
func (m *mirror) At(ctx context.Context, partition int32, next event.Offset) (View, error) {
	if partition != m.partition {
		return nil, errors.New("another partition")
	}
	if err := m.readTo(ctx, next); err != nil {
		return nil, err
	}
	v := &mirrorView{segments: slices.Clone(m.segments), bits: map[segment.ID][]uint64{}, keys: m.keys, readers: map[segment.ID][]Reader{}, dead: map[code.DocumentKey]bool{}}
	taken := map[code.DocumentKey]bool{}
	for _, id := range m.segments {
		v.add(m, id, taken)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.mu.late {
		delete(m.mu.dead, k)
	}
	m.mu.late = nil
	return v, nil
}

type mirrorView struct {
	segments []segment.ID
	bits     map[segment.ID][]uint64
	keys     map[segment.ID][]code.DocumentKey
	readers  map[segment.ID][]Reader
	infos    []SegmentInfo
	dead     map[code.DocumentKey]bool
}

func (v *mirrorView) Readers(_ context.Context, id segment.ID) ([]Reader, error) {
	return v.readers[id], nil
}

// readerOf returns the reader of a document.
func (m *mirror) readerOf(k code.DocumentKey) Reader {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, found := m.mu.readers[k]; found {
		return r
	}
	return Reader{1, "public"}
}

func (v *mirrorView) add(m *mirror, id segment.ID, taken map[code.DocumentKey]bool) {
	bits, info := make([]uint64, (len(m.keys[id])+63)/64), SegmentInfo{ID: id}
	for d, k := range m.keys[id] {
		r := m.readerOf(k)
		v.dead[k] = m.isDead(k)
		if v.readers[id] = append(v.readers[id], r); d > 0 && r.Class != info.Class {
			info.Mixed = true
		}
		info.Class = r.Class
		if !taken[k] && !m.isDead(k) {
			bits[d/64] |= 1 << (d % 64)
			info.LiveBytes += int64(len(m.s.documents[k].Text))
			taken[k] = true
		}
	}
	if info.Mixed {
		info.Class = "mixed " + id.String()
	}
	v.bits[id] = bits
	v.infos = append(v.infos, info)
}

func (v *mirrorView) Segments(int32) []SegmentInfo { return v.infos }
func (v *mirrorView) Release()                     {}
func (v *mirrorView) Liveness(id segment.ID, lost ...segment.ID) ([]uint64, int, error) {
	bits, ok := v.bits[id]
	if !ok {
		return nil, 0, code.ErrNotFound
	}
	bits = slices.Clone(bits)
	for d, k := range v.keys[id] {
		first := slices.IndexFunc(v.segments, func(s segment.ID) bool { return !slices.Contains(lost, s) && slices.Contains(v.keys[s], k) })
		if !v.dead[k] && v.segments[first] == id {
			bits[d/64] |= 1 << (d % 64)
		}
	}
	return bits, len(v.keys[id]), nil
}

// verify compares the contents of the mirror's segments with the indexed documents.
func (m *mirror) verify(want map[code.DocumentKey]segment.Document) {
	m.s.Helper()
	got := map[code.DocumentKey]bool{}
	for _, id := range m.segments {
		m.s.check(m.s.open(m.s.ctx, id, func(f *segment.File) error {
			for d, k := range m.keys[id] {
				m.s.sameDocument(f, segment.DocID(d), k)
				got[k] = true
			}
			return nil
		}))
	}
	for k := range want {
		if !got[k] && !m.isDead(k) {
			m.s.Errorf("document %s is lost", k.Blob)
		}
	}
}

func (s *site) sameDocument(f *segment.File, d segment.DocID, k code.DocumentKey) {
	s.Helper()
	want := s.documents[k]
	text, err := f.Text(d, nil)
	s.check(err)
	symbols, err := f.Symbols(d)
	s.check(err)
	if !bytes.Equal(text, want.Text) || !slices.Equal(symbols, want.Symbols) || f.Flags(d) != want.Flags {
		s.Fatalf("document %s differs after a merge", k.Blob)
	}
}

// start runs a compactor; stop ends it and waits.
func (s *site) start(o Options) (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	if o.Log == nil {
		o.Log = s.log
	}
	if o.Objects == nil {
		o.Objects = s.store
	}
	if o.TempDir == "" {
		o.TempDir = filepath.Join(s.TempDir(), "merges")
	}
	done := make(chan error, 1)
	go func() { done <- New(o).Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.Errorf("Run: %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(o.TempDir, tempPattern)); len(left) > 0 {
			s.Errorf("left behind: %v", left)
		}
	})
	s.Cleanup(stop)
	return stop
}

// runUntil follows the log until the condition holds.
func (m *mirror) runUntil(what string, ok func() bool) {
	m.s.Helper()
	for !ok() {
		if err := m.readNext(m.s.ctx); err != nil {
			m.s.Fatalf("waiting until %s: %v; %d segments, %d merges, %d refused", what, err, len(m.segments), m.merges, m.refused)
		}
	}
}

// runUntilMerged follows the log until all pushes were read and nothing is left to merge.
func (m *mirror) runUntilMerged(pushes int) {
	m.s.Helper()
	policy := Policy{}
	policy.ensureDefaults()
	m.runUntil("nothing is left to merge", func() bool {
		return m.indexed >= pushes && len(policy.choosePlan(m.state.segments).inputs) == 0
	})
}

// untilQuiet follows the log until nothing is left to merge in a quiet partition. The
// number of remaining segments depends on how many segments the merges by number found:
// each is more than twice as large as all smaller ones together.
func (m *mirror) untilQuiet() {
	m.s.Helper()
	policy := Policy{}
	policy.ensureDefaults()
	m.runUntil("nothing is left to merge in quiet", func() bool {
		return len(policy.choosePlan(m.state.segments).inputs) == 0 && len(policy.quietInputs(m.state.segments)) == 0
	})
	if len(m.segments) > 3 {
		m.s.Errorf("%d segments are left", len(m.segments))
	}
}

func TestMergesWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	registry := prometheus.NewRegistry()
	s.start(Options{Registerer: registry})
	m := newMirror(s, 1)
	var keys []code.DocumentKey
	for range 120 {
		s.push(1, s.anyDocument())
	}
	for k := range s.documents {
		keys = append(keys, k)
	}
	m.runUntilMerged(120)
	if len(m.segments) > 4*(FanIn-1) {
		t.Errorf("%d segments are left", len(m.segments))
	}
	m.verify(s.documents)
	if held := m.heldDocuments(); len(held) != len(keys) {
		t.Errorf("%d documents held, want %d", len(held), len(keys))
	}
	if m.refused > 0 {
		t.Errorf("%d merges refused", m.refused)
	}
}

func TestDropsTheDeadAndRepeated(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	m := newMirror(s, 0)
	twice := s.document()
	want := maps.Clone(s.documents)
	for i := range FanIn {
		alive, dead := s.document(), s.document()
		s.push(0, alive, dead, s.repeatedDocument(twice, i))
		m.killDocuments(dead.Key)
		want[alive.Key] = alive
	}
	s.start(Options{Liveness: m})
	other := newMirror(s, 0)
	other.mu.dead = m.mu.dead
	other.runUntil("merged", func() bool { return int(other.next) > FanIn && len(other.segments) == 1 })
	other.verify(want)
	held := other.heldDocuments()
	for k := range m.mu.dead {
		if held[k] {
			t.Error("a dead document is held")
		}
	}
	if id := other.segments[0]; other.outputs[id].Documents != len(held) || len(other.keys[id]) != len(held) {
		t.Errorf("the output has %d documents, want %d", len(other.keys[id]), len(held))
	}
}

// repeatedDocument returns d for two pushes, and another document otherwise.
func (s *site) repeatedDocument(d segment.Document, i int) segment.Document {
	if i == 2 || i == 5 {
		return d
	}
	return s.document()
}

func TestEverythingDead(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	m := newMirror(s, 0)
	for range FanIn {
		d := s.document()
		s.push(0, d)
		m.killDocuments(d.Key)
	}
	s.start(Options{Liveness: m})
	other := newMirror(s, 0)
	other.mu.dead = m.mu.dead
	other.runUntil("merged away", func() bool { return other.merges == 1 })
	if len(other.segments) != 0 || len(other.outputs) != 0 {
		t.Errorf("%d segments are left, %d outputs", len(other.segments), len(other.outputs))
	}
}

func TestRewritesWhatHasDied(t *testing.T) {
	t.Parallel()
	s := newSite(t, 4)
	m := newMirror(s, 0)
	var documents []segment.Document
	for range 40 {
		d := s.document()
		documents = append(documents, d)
	}
	s.push(0, documents...)
	for _, d := range documents[:30] {
		m.killDocuments(d.Key)
	}
	size := int64(0)
	for _, d := range documents {
		size += int64(len(d.Text))
	}
	s.start(Options{Liveness: m, Policy: Policy{MaxTextBytes: size}})
	other := newMirror(s, 0)
	other.mu.dead = m.mu.dead
	other.runUntil("rewritten", func() bool { return other.merges == 1 })
	other.verify(s.documents)
	if held := other.heldDocuments(); len(held) != 10 {
		t.Errorf("%d documents held, want 10", len(held))
	}
}

// TestRefusal revives a document after the compactor got its View: the merge is refused,
// and repeated with all documents.
func TestRefusal(t *testing.T) {
	t.Parallel()
	s := newSite(t, 5)
	m := newMirror(s, 0)
	var late segment.Document
	for range FanIn {
		late = s.document()
		s.push(0, late, s.document())
	}
	m.killDocuments(late.Key)
	m.mu.late = []code.DocumentKey{late.Key}
	s.start(Options{Liveness: m})
	other := newMirror(s, 0)
	other.runUntil("merged", func() bool { return int(other.next) > FanIn && len(other.segments) == 1 })
	other.verify(s.documents)
	if other.refused != 1 || other.merges != 2 {
		t.Errorf("%d merges, %d refused, want 2 and 1", other.merges, other.refused)
	}
}

// TestRestart stops compactors at random moments, deletes the inputs of merges as the
// projections do, and restarts.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := newSite(t, 6)
	m := newMirror(s, 1)
	for range 12 {
		stop := s.start(Options{})
		for range s.rng.IntN(30) {
			s.push(1, s.document(), s.anyDocument())
		}
		if s.rng.IntN(2) == 0 {
			m.runUntilMerged(s.pushes)
		}
		stop()
		high, err := s.log.HighWater(s.ctx, event.TopicEvents)
		s.check(err)
		s.check(m.readTo(s.ctx, high[1]))
		s.deleteAllBut(m.segments)
	}
	s.start(Options{})
	m.runUntilMerged(s.pushes)
	m.verify(s.documents)
	if m.refused > 0 || len(m.heldDocuments()) != len(s.documents) {
		t.Errorf("%d refused, %d documents held of %d", m.refused, len(m.heldDocuments()), len(s.documents))
	}
}

// slowLog blocks each append until the test releases it.
type slowLog struct {
	*embeddedlog.Log
	began, release chan struct{}
}

// Append fails if ctx ends before the release; the record is still added, as if it had
// already been on its way to the disk.
func (l *slowLog) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	l.began <- struct{}{}
	select {
	case <-ctx.Done():
	case <-l.release:
	}
	positions, err := l.Log.Append(context.WithoutCancel(ctx), topic, partition, records...)
	return positions, errors.Join(err, ctx.Err())
}

// TestStopWaitsForAppend stops a compactor while it appends a merge: Run returns after
// the record is appended.
func TestStopWaitsForAppend(t *testing.T) {
	t.Parallel()
	s := newSite(t, 10)
	for range FanIn {
		s.push(0, s.document())
	}
	log := &slowLog{s.log, make(chan struct{}), make(chan struct{})}
	ctx, stop := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() {
		done <- New(Options{Log: log, Objects: s.store, TempDir: filepath.Join(t.TempDir(), "merges")}).Run(ctx)
	}()
	<-log.began
	stop()
	select {
	case err := <-done:
		t.Fatalf("Run returned before the append: %v", err)
	case log.release <- struct{}{}:
	}
	s.check(<-done)
	m := newMirror(s, 0)
	high, err := s.log.HighWater(s.ctx, event.TopicEvents)
	s.check(err)
	s.check(m.readTo(s.ctx, high[0]))
	if m.merges != 1 {
		t.Errorf("%d merges in the log, want 1", m.merges)
	}
}

func (s *site) deleteAllBut(keep []segment.ID) {
	s.Helper()
	for info, err := range s.store.List(s.ctx) {
		s.check(err)
		if id, ok := segmentstore.ParseSegmentName(info.Name); ok && !slices.Contains(keep, id) {
			s.check(s.store.Delete(s.ctx, info.Name))
		}
	}
}

// mergeAt waits for the record at an offset of partition 0, which is a merge.
func (s *site) mergeAt(offset event.Offset) *event.SegmentsMerged {
	s.Helper()
	reader, err := s.log.Tail(s.ctx, event.TopicEvents, 0, offset)
	s.check(err)
	defer reader.Close()
	rec, err := reader.Next(s.ctx)
	s.check(err)
	_, ev, err := event.Decode(rec)
	s.check(err)
	return ev.(*event.SegmentsMerged)
}

// TestLostInput excludes a segment that the store does not have, and one that is damaged.
func TestLostInput(t *testing.T) {
	t.Parallel()
	s := newSite(t, 7)
	var ids []segment.ID
	for range FanIn + 2 {
		ids = append(ids, s.push(0, s.document()))
	}
	s.check(s.store.Delete(s.ctx, segmentstore.SegmentName(ids[3])))
	damaged := segmentstore.SegmentName(ids[5])
	s.check(s.store.Delete(s.ctx, damaged))
	s.check(s.store.PutBytes(s.ctx, damaged, []byte("damaged")))
	s.start(Options{})
	inputs := s.mergeAt(FanIn + 2).Inputs
	if len(inputs) != FanIn || slices.Contains(inputs, ids[3].String()) || slices.Contains(inputs, ids[5].String()) {
		t.Errorf("merged %v", inputs)
	}
	if err := s.store.Check(s.ctx, damaged, nil); !errors.Is(err, code.ErrNotFound) {
		t.Errorf("the damaged object is still in the way of an intact copy: %v, want %v", err, code.ErrNotFound)
	}
}

// TestKeepsWhatALostSegmentHolds indexes the document of a segment again that the segment
// store lost while the projection still has it. The projection may lose it, too, so that a
// merge must not drop the new copy.
func TestKeepsWhatALostSegmentHolds(t *testing.T) {
	t.Parallel()
	s := newSite(t, 12)
	again := s.document()
	lost := s.push(0, again)
	m := newMirror(s, 0)
	s.check(m.readTo(s.ctx, 1))
	s.check(s.store.Delete(s.ctx, segmentstore.SegmentName(lost)))
	s.push(0, again)
	for range FanIn - 1 {
		s.push(0, s.document())
	}
	s.start(Options{Liveness: m})
	merge := s.mergeAt(FanIn + 1)
	if len(merge.Inputs) != FanIn || slices.Contains(merge.Inputs, lost.String()) || merge.Output.Documents != FanIn {
		t.Errorf("merged %v, %d documents; want %d inputs and documents, without %s", merge.Inputs, merge.Output.Documents, FanIn, lost)
	}
}

// TestFull merges the inputs that fit: the choice is based on text, but symbols take
// space too.
func TestFull(t *testing.T) {
	t.Parallel()
	s := newSite(t, 10)
	var inputs []*entry
	text := []int64{0}
	for range 4 {
		d := s.documentOf(5)
		id := s.push(0, d)
		inputs = append(inputs, &entry{id: id, ref: event.SegmentRef{ID: id.String()}})
		text = append(text, text[len(text)-1]+int64(len(d.Text)))
	}
	o := Options{Objects: s.store, TempDir: t.TempDir(), Policy: Policy{MaxTextBytes: text[4] - 1}}
	out, err := newMerger(o).mergeSegments(s.ctx, 0, inputs, nil)
	s.check(err)
	if !slices.Equal(out.inputs, inputs[:3]) || out.outputs[0].Segment.TextBytes != text[3] {
		t.Errorf("merged %d segments with %d bytes, want 3 with %d", len(out.inputs), out.outputs[0].Segment.TextBytes, text[3])
	}
	o.Policy.MaxTextBytes = text[2] - 1
	full := new(fullError)
	if _, err := newMerger(o).mergeSegments(s.ctx, 0, inputs, nil); !errors.As(err, &full) || full.index != 1 {
		t.Errorf("merge of two that do not fit: %v", err)
	}
}

// flaky fails most calls, alternately before or after they take effect.
type flaky struct {
	*embeddedlog.Log
	*segmentstore.Directory
	appends, puts atomic.Int64
}

var errFlaky = errors.New("does not answer")

// Append fails before the record is added, then after it, then succeeds.
func (f *flaky) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	turn := f.appends.Add(1) % 3
	if turn == 1 {
		return nil, errFlaky
	}
	positions, err := f.Log.Append(ctx, topic, partition, records...)
	if turn == 2 {
		return nil, errFlaky
	}
	return positions, err
}

// Put fails every other time.
func (f *flaky) Put(ctx context.Context, name, path string) error {
	if f.puts.Add(1)%2 == 1 {
		return errFlaky
	}
	return f.Directory.Put(ctx, name, path)
}

func TestFailuresPass(t *testing.T) {
	t.Parallel()
	s := newSite(t, 8)
	for range 3 * FanIn {
		s.push(0, s.document())
	}
	f := &flaky{Log: s.log, Directory: s.store}
	s.start(Options{Log: f, Objects: f})
	m := newMirror(s, 0)
	m.runUntilMerged(s.pushes)
	m.verify(s.documents)
	if len(m.heldDocuments()) != len(s.documents) {
		t.Errorf("%d documents held, want %d", len(m.heldDocuments()), len(s.documents))
	}
}

// TestTwoProcesses distributes the partitions between two compactors.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	s := newSite(t, 9)
	s.start(Options{})
	s.start(Options{})
	for range 5 * FanIn {
		s.push(0, s.document())
		s.push(1, s.document())
	}
	total := 0
	for partition := range int32(2) {
		m := newMirror(s, partition)
		m.runUntilMerged(s.pushes / 2)
		m.verify(nil)
		total += len(m.heldDocuments())
	}
	if total != len(s.documents) {
		t.Errorf("%d documents held, want %d", total, len(s.documents))
	}
}

func TestRunSaysWhatIsMissing(t *testing.T) {
	if err := New(Options{}).Run(t.Context()); err == nil {
		t.Error("Run without a log returned nil")
	}
}
