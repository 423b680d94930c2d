package indexer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// Bounds of a unit: the blobs that become one segment. A large import is divided into the
// same number of units for each processor, none above unitShare of a segment, because
// symbols are added to the text. A small import is not divided, because every segment
// costs each query some microseconds.
const (
	unitShare  = 15 // in sixteenths
	wholeBelow = 16 << 20
	// smallSlots bounds the segments built concurrently for pushes below
	// segment.SmallBytes, which do not wait for imports and merges.
	smallSlots = 8
)

// cutUnits divides items into runs of about equal size.
func cutUnits(items []item, total, segmentBytes int64) [][]item {
	if len(items) == 0 {
		return nil
	}
	n := int64(1)
	if total > wholeBelow {
		processors := int64(runtime.GOMAXPROCS(0))
		unit := segmentBytes / 16 * unitShare
		n = (total + unit - 1) / unit
		n = (n + processors - 1) / processors * processors
	}
	target := total/n + 1
	var out [][]item
	start, size := 0, int64(0)
	for i := range items {
		if size += max(items[i].size, 0); size >= target {
			out = append(out, items[start:i+1])
			start, size = i+1, 0
		}
	}
	if start < len(items) {
		out = append(out, items[start:])
	}
	return out
}

// sealBatch reads, analyzes and seals the blobs of a batch that have no document yet, and
// fills in their changes. Each segment belongs to the first ref of the batch that names
// one of its documents. It returns the documents in the segments.
func (h *indexRun) sealBatch(ctx context.Context, b *batch) (map[code.DocumentKey]bool, error) {
	ofDefault, others := b.unreadItems()
	total := sumSizes(ofDefault) + sumSizes(others)
	h.job.planReads(len(ofDefault)+len(others), total)
	cut := append(cutUnits(ofDefault, sumSizes(ofDefault), h.x.o.SegmentBytes), cutUnits(others, sumSizes(others), h.x.o.SegmentBytes)...)
	done := make([]*unit, len(cut))
	errs := make([]error, len(cut))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	slots, builders := h.x.o.Slots, newBuilders() // large builders are collected after the batch
	if total < segment.SmallBytes {
		slots, builders = h.x.smallBuildSlots, h.x.smallBuilders
	}
	for i, items := range cut {
		if errs[i] = slots.Acquire(ctx); errs[i] != nil {
			continue
		}
		done[i] = &unit{indexRun: h, batch: b, items: items, builders: builders, readings: map[readingKey]reading{}}
		group.Go(func() {
			defer slots.Release()
			if errs[i] = done[i].run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	group.Wait()
	if err := firstCause(errs); err != nil {
		return nil, err
	}
	sealed := map[code.DocumentKey]bool{}
	for _, u := range done {
		for _, s := range u.sealed {
			ref := b.refs[s.first]
			ref.segments = append(ref.segments, s.SegmentRef)
		}
		for _, k := range u.documents {
			sealed[k] = true
		}
		maps.Copy(b.readings, u.readings)
	}
	return sealed, nil
}

// newBuilders returns a pool of *segment.Builder.
func newBuilders() *sync.Pool {
	return &sync.Pool{New: func() any { return segment.NewBuilder(segment.Options{}) }}
}

// firstCause returns the first error that is not a cancellation caused by another.
func firstCause(errs []error) error {
	var echo error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if echo == nil {
			echo = err
		}
	}
	return echo
}

// unit becomes one segment, or several if its text does not fit into one.
type unit struct {
	*indexRun
	batch *batch
	items []item

	builders *sync.Pool
	builder  *segment.Builder
	// first is the first ref that names a document in the builder.
	first     int
	sealed    []sealedSegment
	documents []code.DocumentKey
	readings  map[readingKey]reading
}

// sealedSegment is a segment and the first ref of the batch that names one of its
// documents.
type sealedSegment struct {
	event.SegmentRef
	first int
}

func (u *unit) run(ctx context.Context) error {
	reader, err := u.m.Reader(ctx)
	if err != nil {
		return err
	}
	defer reader.Close()
	u.builder = u.builders.Get().(*segment.Builder)
	u.reset()
	ids := make([]mirror.ObjectID, len(u.items))
	for i := range ids {
		ids[i] = u.items[i].id
	}
	err = reader.Blobs(ctx, ids, u.x.o.MaxBlobBytes, func(i int, content []byte, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		u.x.metrics.read.Inc()
		defer u.job.addProgress(1, int64(len(content)))
		return u.addBlob(ctx, &u.items[i], content, err)
	})
	if err == nil {
		err = u.sealSegment(ctx)
	}
	if err != nil {
		u.builder = nil // it is in an unknown state: discard it
		return err
	}
	u.builders.Put(u.builder)
	u.builder = nil // the unit outlives the builder, which may be 120 MiB
	return nil
}

// reset begins a segment. Its ID is seeded with the cause: a revert builds the documents
// of an earlier push again, and that segment may be about to leave the store, merged into
// another.
func (u *unit) reset() {
	cause := u.batch.refs[0].cause
	u.builder.Reset(segment.Options{MaxTextBytes: u.x.o.SegmentBytes, Seed: fmt.Appendf(nil, "repository %d, cause %s", u.repo, cause.position)})
	u.first = len(u.batch.refs)
}

// addBlob adds the documents of one blob: one for each language of its paths for which no
// live segment holds it.
func (u *unit) addBlob(ctx context.Context, it *item, content []byte, err error) error {
	if err != nil {
		reason := skipReason(err)
		if reason == code.SkipUnreadable && !u.job.skipUnreadable {
			return fmt.Errorf("%w: %w", errUnreadableBlob, err)
		}
		u.skipPlaces(it, reason)
		return nil
	}
	decoded, reason := u.x.o.Analyzer.Decode(content)
	if reason != "" {
		for _, p := range it.places {
			u.readings[u.placeKey(u.batch, it, p)] = reading{skipped: reason}
		}
		u.skipPlaces(it, reason)
		return nil
	}
	head := content[:min(len(content), analyze.HeadBytes)]
	have := u.knownLanguages(it, head)
	for _, p := range it.places {
		change, override := u.batch.changeAt(p), u.batch.overrideAt(p)
		r := u.x.o.Analyzer.Read(change.Path, head)
		r.Language = cmp.Or(override.Language, r.Language)
		if !slices.Contains(have, r.Language) {
			if err := u.addDocument(ctx, it.id.Blob(), u.x.o.Analyzer.AnalyzeText(decoded, r.Language), p.ref); err != nil {
				return err
			}
			have = append(have, r.Language)
		}
		change.Blob, change.Language, change.Flags = it.id.Blob(), r.Language, override.Apply(u.x.o.Analyzer.Flags(change.Path, r))
		u.readings[u.placeKey(u.batch, it, p)] = reading{Reading: r}
	}
	return nil
}

// knownLanguages returns the languages for which a live segment holds the blob.
func (u *unit) knownLanguages(it *item, head []byte) []code.Language {
	out := slices.Clone(it.known)
	for _, p := range it.basePaths {
		out = append(out, cmp.Or(p.language, u.x.o.Analyzer.Read(p.path, head).Language))
	}
	return out
}

// errUnreadableBlob means that a blob cannot be read from a mirror that may be damaged.
var errUnreadableBlob = errors.New("unreadable blob")

func skipReason(err error) code.SkipReason {
	if errors.Is(err, mirror.ErrTooLarge) {
		return code.SkipTooLarge
	}
	return code.SkipUnreadable
}

// skipPlaces records why the places of a blob are not searchable.
func (u *unit) skipPlaces(it *item, reason code.SkipReason) {
	u.x.metrics.countSkipped(reason, len(it.places))
	for _, p := range it.places {
		u.batch.changeAt(p).Skipped = reason
	}
}

func (u *unit) addDocument(ctx context.Context, blob code.BlobID, r analyze.Result, ref int) error {
	if r.SymbolsFailed != nil {
		reason := r.Flags.PartialSymbols()
		u.x.metrics.symbolFailures.WithLabelValues(string(reason)).Inc()
		u.x.o.Logger.Warn("symbols of a blob are missing; it is searchable", "repository_id", u.repo, "blob", blob.String(), "reason", reason, "error", r.SymbolsFailed)
	}
	d := segment.Document{Key: code.DocumentKey{Blob: blob, Language: r.Language}, Flags: r.Flags, Text: r.Text, Symbols: r.Symbols}
	err := u.builder.Add(d)
	if errors.Is(err, segment.ErrFull) {
		if err := u.sealSegment(ctx); err != nil {
			return err
		}
		u.reset()
		err = u.builder.Add(d)
	}
	if err != nil {
		return fmt.Errorf("add %s: %w", blob, err)
	}
	u.first = min(u.first, ref)
	u.documents = append(u.documents, d.Key)
	u.x.metrics.documents.Inc()
	u.x.metrics.text.Add(float64(len(r.Text)))
	return nil
}

// sealSegment finishes the current segment and stores it.
func (u *unit) sealSegment(ctx context.Context) error {
	if u.builder.Documents() == 0 {
		return nil
	}
	if err := os.MkdirAll(u.x.o.TempDir, 0o700); err != nil { // it may have been removed
		return fmt.Errorf("write segment: %w", err)
	}
	dir, err := os.MkdirTemp(u.x.o.TempDir, "segment-")
	if err != nil {
		return fmt.Errorf("write segment: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "table")
	meta, err := u.builder.Finish(path)
	if err != nil {
		return err
	}
	if err := u.m.NoteUnannounced(meta.ID.String()); err != nil {
		return err
	}
	storing, span := tracing.Start(ctx, "store segment")
	span.SetInt("quarry.segment_bytes", meta.SizeBytes)
	err = u.x.o.Segments.Put(storing, segmentstore.SegmentName(meta.ID), path)
	if span.End(err); err != nil {
		return fmt.Errorf("%w: store segment %s: %w", worker.ErrUnavailable, meta.ID, err)
	}
	u.sealed = append(u.sealed, sealedSegment{event.SegmentRef{
		ID: meta.ID.String(), SizeBytes: meta.SizeBytes, TextBytes: meta.TextBytes, Documents: meta.Documents,
	}, u.first})
	u.x.metrics.segments.Inc()
	u.x.metrics.segmentBytes.Add(float64(meta.SizeBytes))
	return nil
}
