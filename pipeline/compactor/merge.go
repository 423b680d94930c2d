package compactor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// symbolCacheBytes is the size of the cache for frames of the symbol text, which the
	// documents of an input share.
	symbolCacheBytes = 8 << 20
	// keepBuilderBytes is the text size above which a builder's memory is released.
	keepBuilderBytes = 16 << 20
)

// merger makes merges, one at a time.
type merger struct {
	objects segmentstore.Store
	tempDir string
	maxText int64
	slots   *segment.Slots
	// slot is a semaphore that is held during a merge.
	slot    chan struct{}
	builder *segment.Builder
}

func newMerger(o Options) *merger {
	return &merger{objects: o.Objects, tempDir: o.TempDir, maxText: o.Policy.MaxTextBytes, slots: o.Slots, slot: make(chan struct{}, 1)}
}

// mergeResult is a completed merge that has not been appended.
type mergeResult struct {
	inputs []*entry
	// outputs is empty if all documents were dead. Only a division has several, and origins.
	outputs []event.MergeOutput
	dropped int
}

// mergeSegments merges inputs into one segment and puts it into the segment store. If not
// all inputs fit, it merges only the first ones. It fails with an inputError if one of
// them cannot be read, and with a fullError if the first two do not fit.
func (m *merger) mergeSegments(ctx context.Context, partition int32, inputs []*entry, view View) (*mergeResult, error) {
	dir, end, err := m.begin(ctx, inputs)
	if err != nil {
		return nil, err
	}
	defer end()
	for {
		b := build{merger: m, dir: dir, view: view, seen: map[code.DocumentKey]bool{}}
		out, err := b.run(ctx, partition, inputs)
		if full := new(fullError); errors.As(err, &full) && full.index >= 2 {
			inputs = inputs[:full.index]
			continue
		}
		return out, err
	}
}

// begin waits until a merge of the inputs may begin. It returns a directory for temporary
// files, and a function to call at the end of the merge.
func (m *merger) begin(ctx context.Context, inputs []*entry) (dir string, end func(), err error) {
	select {
	case m.slot <- struct{}{}:
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	end = func() { <-m.slot }
	if sumText(inputs) >= segment.SmallBytes {
		if err := m.slots.Acquire(ctx); err != nil {
			end()
			return "", nil, err
		}
		end = func() { m.slots.Release(); <-m.slot }
	}
	if err = os.MkdirAll(m.tempDir, 0o700); err == nil { // it may be deleted at any time
		dir, err = os.MkdirTemp(m.tempDir, tempPattern)
	}
	if err != nil {
		end()
		return "", nil, wrapFailure(failureStore, "make room for a merge", err)
	}
	release := end
	return dir, func() { os.RemoveAll(dir); release() }, nil
}

// build is the state of one attempt at a merge.
type build struct {
	*merger
	dir     string
	view    View // nil means that no document is dead
	seen    map[code.DocumentKey]bool
	dropped int
}

func (b *build) run(ctx context.Context, partition int32, inputs []*entry) (*mergeResult, error) {
	b.reset(segment.Options{Seed: outputSeed(partition, inputs), MaxTextBytes: b.maxText, Grams: true})
	for i, e := range inputs {
		err := b.addSegment(ctx, e)
		if errors.Is(err, segment.ErrFull) {
			return nil, &fullError{i}
		}
		if err != nil {
			return nil, err
		}
	}
	out := &mergeResult{inputs: inputs, dropped: b.dropped}
	if b.builder.Documents() == 0 {
		return out, nil
	}
	output, err := b.sealOutput(ctx)
	if err != nil {
		return nil, wrapFailure(failureStore, "write merged segment", err)
	}
	out.outputs = []event.MergeOutput{{Segment: *output}}
	return out, nil
}

// reset empties the builder. After a large merge, it first releases the memory.
func (m *merger) reset(o segment.Options) {
	if m.builder == nil || m.builder.TextBytes() > keepBuilderBytes {
		m.builder = segment.NewBuilder(o)
		return
	}
	m.builder.Reset(o)
}

// outputSeed makes the IDs of outputs differ from those of segments that workers build,
// and of outputs with other inputs. A merged segment may be deleted at any time, so its
// ID must not be used again.
func outputSeed(partition int32, inputs []*entry) []byte {
	s := fmt.Appendf(nil, "merge/%d", partition)
	for _, e := range inputs {
		s = append(s, e.id[:]...)
	}
	return s
}

// sealOutput seals the output and puts it into the segment store.
func (b *build) sealOutput(ctx context.Context) (*event.SegmentRef, error) {
	path := filepath.Join(b.dir, "output")
	meta, err := b.builder.Finish(path)
	if err != nil {
		return nil, err
	}
	if meta.TextBytes > keepBuilderBytes {
		b.merger.builder = nil
	}
	if err := b.objects.Put(ctx, segmentstore.SegmentName(meta.ID), path); err != nil {
		return nil, err
	}
	return &event.SegmentRef{
		ID: meta.ID.String(), SizeBytes: meta.SizeBytes, TextBytes: meta.TextBytes, Documents: meta.Documents,
	}, nil
}

// addSegment adds the documents of one input that must be kept.
func (b *build) addSegment(ctx context.Context, e *entry) error {
	return b.withInput(ctx, e, b.dir, func(r *segment.Reader) error {
		live, err := b.liveDocuments(e, r.Documents())
		if err != nil {
			return err
		}
		return b.addDocuments(ctx, e, r, live)
	})
}

// withInput calls use with the reader of an input, which it fetches into dir.
func (m *merger) withInput(ctx context.Context, e *entry, dir string, use func(*segment.Reader) error) error {
	path := filepath.Join(dir, e.id.String())
	err := m.objects.Fetch(ctx, segmentstore.SegmentName(e.id), path)
	if errors.Is(err, code.ErrNotFound) {
		return &inputError{e, err}
	}
	if err != nil {
		return wrapFailure(failureStore, "fetch segment to merge", err)
	}
	defer os.Remove(path)
	cache := segment.NewCache(symbolCacheBytes)
	defer cache.Close()
	file, err := segment.OpenFile(path, cache)
	if err != nil {
		return &inputError{e, err}
	}
	defer file.Close()
	return use(file.Reader)
}

// liveDocuments returns the documents to keep; nil means all.
func (b *build) liveDocuments(e *entry, documents int) ([]uint64, error) {
	if b.view == nil || e.keepAll {
		return nil, nil
	}
	live, n, err := b.view.Liveness(e.id)
	if errors.Is(err, code.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, wrapFailure(failureStore, "read the live documents", err)
	}
	if n != documents {
		return nil, &inputError{e, fmt.Errorf("%w: it has %d documents, the projection knows %d", segment.ErrCorrupt, documents, n)}
	}
	if live == nil {
		live = []uint64{} // no document is live
	}
	return live, nil
}

func (b *build) addDocuments(ctx context.Context, e *entry, r *segment.Reader, live []uint64) (err error) {
	keys, err := r.Keys()
	if err != nil {
		return &inputError{e, err}
	}
	var cursor segment.Cursor
	defer func() { err = errors.Join(err, cursor.Close()) }()
	text := segment.NewText(r, &cursor)
	for d, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		if live != nil && live[d/64]>>(d%64)&1 == 0 || b.seen[key] {
			b.dropped++
			continue
		}
		doc, err := segment.ReadDocument(r, text, segment.DocID(d), key)
		if err != nil {
			return &inputError{e, err}
		}
		if err := b.builder.Add(doc); err != nil {
			return b.wrapAddError(e, err)
		}
		b.seen[key] = true
	}
	return nil
}

// wrapAddError wraps an error of Builder.Add as an inputError; it returns ErrFull
// unchanged.
func (b *build) wrapAddError(e *entry, err error) error {
	if errors.Is(err, segment.ErrFull) {
		return err
	}
	return &inputError{e, err}
}

// encodeRecord returns the event of a merge. Its ID is derived from the inputs, in any
// order, and the outputs, so that a second merge of the same segments, after a refusal, is
// a different event.
func (m *mergeResult) encodeRecord(partition int32, o *Options) (event.Record, error) {
	ev := &event.SegmentsMerged{Partition: partition, At: o.Now()}
	if len(m.outputs) == 1 && m.outputs[0].Origins == nil {
		ev.Output = &m.outputs[0].Segment
	} else {
		ev.Outputs = m.outputs
	}
	ids := make([]segment.ID, len(m.inputs))
	for i, e := range m.inputs {
		ev.Inputs = append(ev.Inputs, e.ref.ID)
		ids[i] = e.id
	}
	slices.SortFunc(ids, func(a, b segment.ID) int { return bytes.Compare(a[:], b[:]) })
	hash := sha256.New()
	for _, id := range ids {
		hash.Write(id[:])
	}
	for _, output := range m.outputs {
		hash.Write([]byte(output.Segment.ID))
	}
	id := fmt.Sprintf("merge/%d/%s", partition, hex.EncodeToString(hash.Sum(nil)[:16]))
	return event.Encode(event.Envelope{ID: id, Source: "/pipeline/compactor", Time: ev.At}, ev)
}

// textBytes returns the text sizes of the inputs and of the outputs.
func (m *mergeResult) textBytes() (in, out int64) {
	for _, output := range m.outputs {
		out += output.Segment.TextBytes
	}
	return sumText(m.inputs), out
}

// sumText returns the total text size of segments.
func sumText(segments []*entry) (bytes int64) {
	for _, e := range segments {
		bytes += e.ref.TextBytes
	}
	return bytes
}
