package places

import (
	"context"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// change is the effect of one record. Manifest rows are written to the batch immediately.
// Changes of documents and segments are collected, and flush writes them once it is known
// that no document is lost.
type change struct {
	p     *Places
	part  *partition
	b     *store.Batch
	at    event.Position
	stage *staged

	documents   map[code.DocumentKey]*documentChange
	added       []*handle // segments that this record adds
	dropped     map[uint32]bool
	next        uint32 // next sequence; 0 if not read yet
	doomedCount int
	// mayLose reports whether documents may be left without a segment.
	mayLose bool
	// removedAt is set for a record that removes a repository or a branch.
	// wholeRepository reports whether it removes a repository, whose older text may
	// already be dead.
	removedAt       time.Time
	wholeRepository bool
	// removedUnheld reports whether the removal removed documents of absent segments.
	removedUnheld bool

	// pinned and unpinned overlay the pins of the store.
	pinned   []pin
	unpinned map[pin]bool
}

// documentChange is the change of one document.
type documentChange struct {
	delta  int
	gained []location
	lost   []uint32
	places []placeChange
}

// placeChange adds a place on a default branch or removes it.
type placeChange struct {
	repository code.RepositoryID
	path       string
	flags      code.Flags
	removed    bool
}

func (p *Places) newChange(b *store.Batch, at event.Position) *change {
	part := p.ensurePartition(at.Partition)
	c := &change{
		p: p, part: part, b: b, at: at, stage: &staged{number: at.Partition},
		documents: map[code.DocumentKey]*documentChange{},
		dropped:   map[uint32]bool{}, unpinned: map[pin]bool{},
	}
	part.applied = c.stage
	return c
}

func (c *change) trackDocument(d code.DocumentKey) *documentChange {
	change := c.documents[d]
	if change == nil {
		change = &documentChange{}
		c.documents[d] = change
	}
	return change
}

// adjustCount adds delta to the count of an entry's document.
func (c *change) adjustCount(value []byte, delta int) error {
	e, err := decodeEntry(value)
	if err == nil && e.kind == entryDocument {
		c.trackDocument(e.document).delta += delta
	}
	return err
}

// notePlace records that a file was added to or removed from a default branch.
func (c *change) notePlace(id code.RepositoryID, path, value []byte, gone bool) error {
	e, err := decodeEntry(value)
	if err == nil && e.kind == entryDocument {
		d := c.trackDocument(e.document)
		d.places = append(d.places, placeChange{id, string(path), e.flags, gone})
	}
	return err
}

// replacePlaces replaces the places of a default branch that one chain of levels shows
// with those that another shows.
func (c *change) replacePlaces(id code.RepositoryID, from, to levels) error {
	if slices.Equal(from, to) {
		return nil
	}
	return diffLevels(c.b, id, from, to, func(path, before, after []byte) error {
		if before != nil {
			if err := c.notePlace(id, path, before, true); err != nil {
				return err
			}
		}
		if after != nil {
			return c.notePlace(id, path, after, false)
		}
		return nil
	})
}

// diffLevels calls f for each path on which two chains of levels differ, with its values
// before and after, nil if there is none. f must not retain its arguments.
func diffLevels(r store.Reader, id code.RepositoryID, from, to levels, f func(path, before, after []byte) error) error {
	a, err := newWalk(r, id, from)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := newWalk(r, id, to)
	if err != nil {
		return err
	}
	defer b.Close()
	inA, inB := a.Next(), b.Next()
	for inA || inB {
		order := comparePaths(a.path, b.path, inA, inB)
		switch {
		case order < 0:
			err = f(a.path, a.value, nil)
		case order > 0:
			err = f(b.path, nil, b.value)
		case !slices.Equal(a.value, b.value):
			err = f(a.path, a.value, b.value)
		}
		if err != nil {
			return err
		}
		if order <= 0 {
			inA = a.Next()
		}
		if order >= 0 {
			inB = b.Next()
		}
	}
	return firstError(a.Close(), b.Close())
}

// comparePaths compares two paths. A missing path sorts last.
func comparePaths(a, b []byte, inA, inB bool) int {
	switch {
	case !inA:
		return 1
	case !inB:
		return -1
	}
	return slices.Compare(a, b)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// ensureSegment adds a segment of an event unless it is already live. A segment that was
// merged away is added again only if revive is set: an event that is not applied is most
// likely a duplicate, and the result must not depend on whether the object still exists.
// ensureSegment changes no rows; flush does. origins are the repositories that brought the
// documents.
func (c *change) ensureSegment(ctx context.Context, ref *event.SegmentRef, origins []code.RepositoryID, revive bool) (*handle, error) {
	id, err := segment.ParseID(ref.ID)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(c.added, func(h *handle) bool { return h.id == id }); i >= 0 {
		return c.added[i], nil
	}
	known := c.part.byID[id]
	if known != nil && known.reader != nil {
		return known, nil
	}
	if !revive && known == nil {
		_, gone, err := c.b.Read(segmentIDKey(kindGone, c.at.Partition, id))
		if err != nil || gone {
			return nil, err
		}
	}
	h := &handle{id: id, partition: c.at.Partition, origins: origins, row: segmentRow{
		ID: ref.ID, SizeBytes: ref.SizeBytes, TextBytes: ref.TextBytes, Documents: ref.Documents,
	}}
	c.claimKeys(id)
	bring := c.p.openOrIngest
	if known != nil { // absent: leftover keys could not be read
		bring = c.p.restoreSegment
	}
	if err := bring(ctx, h); err != nil {
		return nil, err
	}
	if known != nil { // it was absent before, and keeps its sequence
		if h.reader == nil {
			return known, nil
		}
		h.sequence, h.origins = known.sequence, known.origins
	} else if h.sequence, err = c.nextSequence(); err != nil {
		return nil, err
	}
	c.added = append(c.added, h)
	c.stage.ingested = append(c.stage.ingested, h)
	err = c.addHolder(h)
	if isUnreadable(err) {
		if err = c.p.restoreSegment(ctx, h); err == nil {
			err = c.addHolder(h)
		}
	}
	return h, err
}

// claimKeys prevents the sweeper from deleting the segment's keys until the record is
// committed or discarded.
func (c *change) claimKeys(id segment.ID) {
	c.p.sweep.claimKeys(id)
	c.stage.claims = append(c.stage.claims, id)
}

// addHolder makes h a holder of its documents.
func (c *change) addHolder(h *handle) error {
	if h.reader == nil {
		return nil
	}
	keys, err := h.reader.Keys()
	if err != nil {
		return err
	}
	for i, k := range keys {
		d := c.trackDocument(k)
		d.gained = append(d.gained, location{h.sequence, segment.DocID(i)})
	}
	return nil
}

// removeHolder removes a segment as a holder of its documents.
func (c *change) removeHolder(h *handle) error {
	c.dropped[h.sequence] = true
	if h.reader == nil {
		return nil
	}
	keys, err := h.reader.Keys()
	if isUnreadable(err) {
		return c.loseHolder(h.sequence)
	}
	if err != nil {
		return err
	}
	for _, k := range keys {
		d := c.trackDocument(k)
		d.lost = append(d.lost, h.sequence)
	}
	return nil
}

// loseHolder is a removeHolder for a segment that cannot be read. It reads all documents
// of the partition, at about half a microsecond each.
func (c *change) loseHolder(sequence uint32) error {
	return forEachRow(c.b, partitionPrefix(kindDocument, c.at.Partition), func(k, v []byte) error {
		row, err := decodeDocumentRow(v)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(row.holders, func(l location) bool { return l.sequence == sequence }) {
			d := c.trackDocument(parseDocument(k))
			d.lost = append(d.lost, sequence)
		}
		return nil
	})
}

// nextSequence returns the next sequence of the partition.
func (c *change) nextSequence() (uint32, error) {
	if c.next == 0 {
		value, ok, err := c.b.Read(partitionPrefix(kindSequence, c.at.Partition))
		if err != nil {
			return 0, err
		}
		c.next = 1
		if ok {
			if c.next, err = decodeUint32(value); err != nil {
				return 0, err
			}
		}
	}
	c.next++
	return c.next - 1, nil
}
