package indexer

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/quarrysearch/quarry/pipeline/changeset"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// changeSet is how a manifest changes, and the blobs that must be read for it.
type changeSet struct {
	// changes are ordered by path; language, flags and reasons found by reading
	// are filled in by the units.
	changes []event.Change
	// items are the blobs to read, in the order of their first path.
	items []item
	bytes int64
}

// item is a blob, where it stands now, and where it stood in the base.
type item struct {
	id   mirror.ObjectID
	size int64
	at   []int    // indices into changes
	was  []string // paths in the base: the document may be known
}

// changes compares two commits; without a base everything is new.
func (x *Indexer) changes(ctx context.Context, m *mirror.Mirror, base, commit code.CommitID) (*changeSet, error) {
	between, err := changeset.Between(ctx, m, base, commit, x.o.MaxFiles)
	if errors.Is(err, mirror.ErrTooLarge) {
		// What was listed may be most of the heap, and nothing else may make the
		// collector run for minutes.
		debug.FreeOSMemory()
	}
	if err != nil {
		return nil, err
	}
	b := &setBuilder{byBlob: map[mirror.ObjectID]int{}, limit: x.o.MaxBlobBytes, skipped: x.metrics.skip}
	b.set.changes = make([]event.Change, 0, len(between))
	was := map[mirror.ObjectID][]string{}
	for i := range between {
		c := &between[i]
		if c.Old.Mode.IsFile() {
			was[c.Old.ID] = append(was[c.Old.ID], c.Path)
		}
		b.add(c)
	}
	for i := range b.set.items {
		b.set.items[i].was = was[b.set.items[i].id]
	}
	return &b.set, nil
}

// A setBuilder makes a changeSet.
type setBuilder struct {
	set     changeSet
	byBlob  map[mirror.ObjectID]int // index into items
	limit   int64
	skipped func(reason code.SkipReason, files int)
}

// add adds the change of one path.
func (b *setBuilder) add(c *changeset.Change) {
	now, change := c.New, event.Change{Path: c.Path}
	switch {
	case now == (mirror.Entry{}): // deleted
	case c.InvalidPath:
		change.Skipped = code.SkipInvalidPath
	case now.Mode.IsSymlink():
		change.Skipped = code.SkipSymlink
	case now.Mode.IsSubmodule():
		change.Skipped = code.SkipSubmodule
	case now.Size > b.limit:
		change.Skipped = code.SkipTooLarge
	default:
		b.read(now, len(b.set.changes))
	}
	if change.Skipped != "" {
		b.skipped(change.Skipped, 1)
	}
	change.SizeBytes = max(now.Size, 0)
	b.set.changes = append(b.set.changes, change)
}

// read notes that the blob of a change has to be read.
func (b *setBuilder) read(e mirror.Entry, change int) {
	i, ok := b.byBlob[e.ID]
	if !ok {
		i = len(b.set.items)
		b.byBlob[e.ID] = i
		b.set.items = append(b.set.items, item{id: e.ID, size: e.Size})
		b.set.bytes += max(e.Size, 0)
	}
	b.set.items[i].at = append(b.set.items[i].at, change)
}
