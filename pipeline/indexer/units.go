package indexer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of a unit: the blobs that become one segment. A large import is cut
// into as many units for each processor, none above unitShare of a segment, since
// symbols come to the text; a small one is not cut at all, since every segment costs
// each query some microseconds.
const (
	unitShare  = 15 // sixteenths
	wholeBelow = 16 << 20
	// A push of less than smallBytes does not wait for the large imports; at most
	// smallPlaces are built at once.
	smallBytes  = 4 << 20
	smallPlaces = 8
)

// units cuts items into runs of about equal size.
func units(items []item, total, segmentBytes int64) [][]item {
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

// segments reads, analyses and seals the blobs of a change set. It fills in the
// changes that stand for them.
func (x *Indexer) segments(ctx context.Context, m *mirror.Mirror, repo code.RepositoryID, set *changeSet, c cause, job *job) ([]event.SegmentRef, error) {
	cut := units(set.items, set.bytes, x.o.SegmentBytes)
	refs := make([][]event.SegmentRef, len(cut))
	errs := make([]error, len(cut))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	places := x.places
	if set.bytes < smallBytes {
		places = x.small
	}
	for i, items := range cut {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			errs[i] = ctx.Err()
			continue
		}
		group.Go(func() {
			defer func() { <-places }()
			u := &unit{x: x, m: m, repo: repo, set: set, items: items, cause: c, job: job}
			if refs[i], errs[i] = u.run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	group.Wait()
	if err := firstCause(errs); err != nil {
		return nil, err
	}
	return slices.Concat(refs...), nil
}

// firstCause returns the first error that is not the echo of another.
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

// A unit becomes one segment, or several if its text does not fit into one.
type unit struct {
	x     *Indexer
	m     *mirror.Mirror
	repo  code.RepositoryID
	set   *changeSet
	items []item
	cause cause
	job   *job

	builder *segment.Builder
	refs    []event.SegmentRef
}

func (u *unit) run(ctx context.Context) ([]event.SegmentRef, error) {
	reader, err := u.m.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	u.builder = u.x.builders.Get().(*segment.Builder)
	u.builder.Reset(u.options())
	ids := make([]mirror.ObjectID, len(u.items))
	for i := range ids {
		ids[i] = u.items[i].id
	}
	err = reader.Blobs(ctx, ids, u.x.o.MaxBlobBytes, func(i int, content []byte, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		defer u.job.progress(1, int64(len(content)))
		return u.blob(ctx, &u.items[i], content, err)
	})
	if err == nil {
		err = u.seal(ctx)
	}
	if err != nil {
		return nil, err // the builder may hold anything: let it go
	}
	u.x.builders.Put(u.builder)
	return u.refs, nil
}

// options seed the segment's ID with what led to it: a revert builds the documents
// of an earlier push again, and that segment may be on its way out of the store,
// merged into another.
func (u *unit) options() segment.Options {
	return segment.Options{MaxTextBytes: u.x.o.SegmentBytes, Seed: fmt.Appendf(nil, "repository %d, cause %s", u.repo, u.cause.at)}
}

// blob adds the documents of one blob: one for each language among its paths.
func (u *unit) blob(ctx context.Context, it *item, content []byte, err error) error {
	if err != nil {
		u.skip(it, skipReason(err))
		return nil
	}
	head := content[:min(len(content), analyze.HeadBytes)]
	added := u.known(it, head)
	for _, at := range it.at {
		change := &u.set.changes[at]
		var language code.Language
		var flags code.Flags
		if len(added) > 0 {
			language, flags = u.x.o.Analyzer.Place(change.Path, head)
		}
		if len(added) == 0 || !slices.Contains(added, language) {
			result := u.x.o.Analyzer.Document(change.Path, content)
			if result.Skipped != "" {
				u.skip(it, result.Skipped)
				return nil
			}
			if err := u.document(ctx, it.id.Blob(), result); err != nil {
				return err
			}
			language, flags = result.Language, result.Flags
			added = append(added, language)
		}
		change.Blob, change.Language, change.Flags = it.id.Blob(), language, flags&analyze.PlaceFlags
	}
	return nil
}

// known returns the languages in which the base has the blob already.
func (u *unit) known(it *item, head []byte) []code.Language {
	var out []code.Language
	for _, path := range it.was {
		language, _ := u.x.o.Analyzer.Place(path, head)
		out = append(out, language)
	}
	return out
}

func skipReason(err error) code.SkipReason {
	if errors.Is(err, mirror.ErrTooLarge) {
		return code.SkipTooLarge
	}
	return code.SkipUnreadable
}

// skip records why the places of a blob are not searchable.
func (u *unit) skip(it *item, reason code.SkipReason) {
	u.x.metrics.skip(reason, len(it.at))
	for _, at := range it.at {
		u.set.changes[at].Skipped = reason
	}
}

func (u *unit) document(ctx context.Context, blob code.BlobID, r analyze.Result) error {
	if r.SymbolsFailed != "" {
		u.x.metrics.symbolFailures.Inc()
		u.x.o.Logger.Warn("symbols of a blob could not be found; it is searchable without", "repository_id", u.repo, "blob", blob.String(), "error", r.SymbolsFailed)
	}
	d := segment.Document{Key: code.DocumentKey{Blob: blob, Language: r.Language}, Flags: r.Flags &^ analyze.PlaceFlags, Text: r.Text, Symbols: r.Symbols}
	err := u.builder.Add(d)
	if errors.Is(err, segment.ErrFull) {
		if err := u.seal(ctx); err != nil {
			return err
		}
		u.builder.Reset(u.options())
		err = u.builder.Add(d)
	}
	if err != nil {
		return fmt.Errorf("add %s: %w", blob, err)
	}
	u.x.metrics.text.Add(float64(len(r.Text)))
	return nil
}

// seal finishes the segment in hand and puts it to the store.
func (u *unit) seal(ctx context.Context) error {
	if u.builder.Documents() == 0 {
		return nil
	}
	if err := os.MkdirAll(u.x.o.TempDir, 0o700); err != nil { // it may be emptied at any time
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
	if err := u.x.o.Segments.Put(ctx, segmentstore.SegmentName(meta.ID), path); err != nil {
		return fmt.Errorf("store segment %s: %w", meta.ID, err)
	}
	u.refs = append(u.refs, event.SegmentRef{
		ID: meta.ID.String(), SizeBytes: meta.SizeBytes, TextBytes: meta.TextBytes, Documents: meta.Documents,
	})
	u.x.metrics.segments.Inc()
	u.x.metrics.segmentBytes.Add(float64(meta.SizeBytes))
	return nil
}
