package indexer

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/changeset"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of a batch: the refs whose blobs are read together and that are announced in one
// append. A single ref may exceed maxBatchChanges.
const (
	maxBatchRefs    = 256
	maxBatchChanges = 200_000
)

// batch is a set of refs that are indexed together: a blob that several of them add is
// read once.
type batch struct {
	refs []*refChange
	// items are the blobs that the refs add.
	items  []item
	byBlob map[mirror.ObjectID]int // index into items
	// changes counts the changes of all refs.
	changes int
	// readings are the results of reading the blobs.
	readings map[readingKey]reading
	// relatives are the repositories whose documents the batch relies on.
	relatives []*relative
}

// refChange is the change of the manifest of a ref.
type refChange struct {
	revision
	base  code.Revision
	cause cause
	// changes are ordered by path; documents, flags and reasons are filled in once the
	// blobs are known.
	changes []event.Change
	// documents counts the blobs that the changes add.
	documents int
	// overrides are what attributes say about files, by index into changes.
	overrides map[int]analyze.Override
	// unchanged is set if the ref is indexed at its commit, but unclassified.
	unchanged bool
	// segments hold documents that this ref is the first in the batch to name.
	segments []event.SegmentRef
}

// item is a blob with its paths in the refs of the batch and in their bases.
type item struct {
	id        mirror.ObjectID
	size      int64
	places    []place
	basePaths []basePath // paths in the bases, whose documents may be known
	// known are the languages for which a live segment holds the blob.
	known []code.Language
	// mustRead is set if the blob must be read even if a segment should hold it.
	mustRead bool
}

// basePath is a path in the base of a ref, and the language that attributes decided for
// it, if any.
type basePath struct {
	path     string
	language code.Language
}

// place is a path in a ref: indices into batch.refs and into its changes.
type place struct{ ref, change int }

func newBatch() *batch {
	return &batch{byBlob: map[mirror.ObjectID]int{}, readings: map[readingKey]reading{}}
}

// isFull reports whether the next ref belongs into another batch.
func (b *batch) isFull() bool { return len(b.refs) >= maxBatchRefs || b.changes >= maxBatchChanges }

func (b *batch) hasRef(ref code.Ref) bool {
	return slices.ContainsFunc(b.refs, func(other *refChange) bool { return other.Ref == ref })
}

// overrideAt returns what attributes say about a place.
func (b *batch) overrideAt(p place) analyze.Override { return b.refs[p.ref].overrides[p.change] }

func (b *batch) changeAt(p place) *event.Change { return &b.refs[p.ref].changes[p.change] }

// addRef adds a ref with the differences between its base and its commit; without a base,
// all files are new. The documents of a base count as known if the log contains its
// announcement and the base is not a ref of the batch, where it may be refreshed.
func (h *indexRun) addRef(ctx context.Context, b *batch, ref *refChange) error {
	x, t := h.x, h.trees
	if err := h.dropUnclassifiedBase(ctx, b, ref); err != nil {
		return err
	}
	between, err := changeset.Compare(ctx, t, ref.base.Commit, ref.Commit, x.o.MaxFiles)
	if errors.Is(err, mirror.ErrMissing) && ref.base.Commit != "" {
		// The base was pruned from the mirror: announce the full manifest.
		ref.base = code.Revision{}
		between, err = changeset.Compare(ctx, t, "", ref.Commit, x.o.MaxFiles)
	}
	if errors.Is(err, mirror.ErrTooLarge) {
		// The listing may be most of the heap, and the collector might not run for
		// minutes otherwise.
		debug.FreeOSMemory()
	}
	if err != nil {
		return err
	}
	before, after, between, err := h.readAttributesOf(ctx, ref, between)
	if err != nil {
		return err
	}
	known := ref.base.Ref == ref.Ref || h.indexed[ref.base.Ref] == ref.base.Commit && !b.hasRef(ref.base.Ref)
	b.refs = append(b.refs, ref)
	ref.changes, ref.overrides = make([]event.Change, 0, len(between)), map[int]analyze.Override{}
	was := map[mirror.ObjectID][]basePath{}
	for i := range between {
		c := &between[i]
		if known && c.Old.Mode.IsFile() && !c.InvalidPath {
			o, err := before.classify(ctx, c.Path)
			if err != nil {
				return err
			}
			was[c.Old.ID] = append(was[c.Old.ID], basePath{c.Path, o.Language})
		}
		if c.New.Mode.IsFile() && !c.InvalidPath {
			o, err := after.classify(ctx, c.Path)
			if err != nil {
				return err
			}
			if o != (analyze.Override{}) {
				ref.overrides[len(ref.changes)] = o
			}
		}
		x.addChange(b, ref, c)
	}
	for id, paths := range was {
		if i, ok := b.byBlob[id]; ok {
			b.items[i].basePaths = append(b.items[i].basePaths, paths...)
		}
	}
	b.changes += len(ref.changes)
	return nil
}

// addChange adds the change of one path to the last ref of the batch.
func (x *Indexer) addChange(b *batch, ref *refChange, c *changeset.Change) {
	now, change := c.New, event.Change{Path: c.Path}
	switch {
	case now == (mirror.Entry{}): // deleted
	case c.InvalidPath:
		change.Skipped = code.SkipInvalidPath
	case now.Mode.IsSymlink():
		change.Skipped = code.SkipSymlink
	case now.Mode.IsSubmodule():
		change.Skipped = code.SkipSubmodule
	case now.Size > x.o.MaxBlobBytes:
		change.Skipped = code.SkipTooLarge
	default:
		b.addItem(now, place{len(b.refs) - 1, len(ref.changes)}, ref.refresh)
		ref.documents++
	}
	if change.Skipped != "" {
		x.metrics.countSkipped(change.Skipped, 1)
	}
	change.SizeBytes = max(now.Size, 0)
	ref.changes = append(ref.changes, change)
}

// addItem records that the blob at a place may have to be read.
func (b *batch) addItem(e mirror.Entry, at place, always bool) {
	i, ok := b.byBlob[e.ID]
	if !ok {
		i = len(b.items)
		b.byBlob[e.ID] = i
		b.items = append(b.items, item{id: e.ID, size: e.Size})
	}
	it := &b.items[i]
	it.places = append(it.places, at)
	it.mustRead = it.mustRead || always
}

// unreadItems returns the items without documents so far: those of the default branch,
// which nearly every search covers, and the rest. Both are ordered by path, so that
// versions of a file, which git stores as deltas, are adjacent.
func (b *batch) unreadItems() (ofDefault, others []item) {
	for i := range b.items {
		it := &b.items[i]
		switch {
		case len(it.places) == 0:
		case slices.ContainsFunc(it.places, func(p place) bool { return b.refs[p.ref].Ref == b.refs[p.ref].head }):
			ofDefault = append(ofDefault, *it)
		default:
			others = append(others, *it)
		}
	}
	for _, items := range [][]item{ofDefault, others} {
		slices.SortStableFunc(items, func(p, q item) int {
			return strings.Compare(b.changeAt(p.places[0]).Path, b.changeAt(q.places[0]).Path)
		})
	}
	return ofDefault, others
}

func sumSizes(items []item) (bytes int64) {
	for i := range items {
		bytes += max(items[i].size, 0)
	}
	return bytes
}
