package places

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxErasures bounds the finished erasures that are kept; the newest are kept.
const maxErasures = 1000

// noteErasure stages an erasure that the record requests.
func (c *change) noteErasure(e erasure.Erasure) error {
	e.At = c.at
	c.stage.erasure = &e
	return writeRow(c.b, erasureKey(c.at), &e)
}

// applyErasure marks every segment of the partition that has dead documents: the erased
// text is among them, but it is unknown in which segment.
func (c *change) applyErasure(ev *event.ErasureRequested) error {
	c.removedAt, c.wholeRepository = ev.At, true
	return firstError(c.noteErasure(erasure.Erasure{Repository: ev.Repository, Commit: ev.Commit, Path: ev.Path, RequestedAt: ev.At}), c.flush())
}

// shouldErase reports whether text that a removal left in a segment must be deleted
// immediately.
func (part *partition) shouldErase(h *handle) bool {
	return !h.removedAt.IsZero() && !h.removedAt.After(part.eraseUntil)
}

// addErasure adds an erasure.
func (p *Places) addErasure(part *partition, e erasure.Erasure) {
	if e.RequestedAt.After(part.eraseUntil) {
		part.eraseUntil = e.RequestedAt
	}
	if e.Commit == "" && e.Path == "" {
		part.erased[e.Repository] = e.RequestedAt
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.erasures[e.At] = &e
}

func parseErasure(k, v []byte) (e erasure.Erasure, err error) {
	if len(k) != partitionPrefixLen+8 {
		return e, ErrCorrupt
	}
	err = json.Unmarshal(v, &e)
	e.At = event.Position{Topic: event.TopicEvents, Partition: int32(binary.BigEndian.Uint32(k[2:])), Offset: event.Offset(binary.BigEndian.Uint64(k[partitionPrefixLen:]))}
	return e, err
}

func (p *Places) loadErasures() error {
	return forEachRow(p.store, erasurePrefix(), func(k, v []byte) error {
		e, err := parseErasure(k, v)
		if err != nil {
			return err
		}
		p.addErasure(p.ensurePartition(e.At.Partition), e)
		return nil
	})
}

// inheritErasures stages the results of erasures that another version of the projections
// has finished: no segment contains their text any more.
func (p *Places) inheritErasures(from store.Reader, b *store.Batch) error {
	return forEachRow(from, erasurePrefix(), func(k, v []byte) error {
		e, err := parseErasure(k, v)
		if err != nil || e.EndedAt.IsZero() {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.mu.erasures[e.At] == nil {
			return nil // requested after the point in time that this version shows
		}
		p.mu.erasures[e.At] = &e
		return b.Set(k, v)
	})
}

// Erasures returns the erasures requested in the log, oldest first.
func (p *Places) Erasures() []erasure.Erasure {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []erasure.Erasure
	for _, e := range p.mu.erasures {
		out = append(out, *e)
	}
	slices.SortFunc(out, compareErasures)
	return out
}

func compareErasures(a, b erasure.Erasure) int {
	return cmp.Or(a.RequestedAt.Compare(b.RequestedAt), cmp.Compare(a.At.Partition, b.At.Partition), cmp.Compare(a.At.Offset, b.At.Offset))
}

// ErasureSegments returns the number of segments on disk that still contain text which an
// erasure, or an earlier removal, left in its partition.
func (p *Places) ErasureSegments(e erasure.Erasure) int {
	n := p.sweep.countErasureSegments(e)
	v := p.Acquire()
	defer v.Release()
	for _, info := range v.SegmentInfos() {
		if info.Partition == e.At.Partition && info.LiveDocuments < info.Documents && !info.Absent &&
			!info.RemovedAt.IsZero() && !info.RemovedAt.After(e.RequestedAt) {
			n++
		}
	}
	return n
}

// countErasureSegments counts the segments that must be deleted for an erasure.
func (s *sweeper) countErasureSegments(e erasure.Erasure) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.mu.queue {
		if (h.partition == e.At.Partition || h.isDiscarded()) && !h.removedAt.IsZero() && !h.removedAt.After(e.RequestedAt) {
			n++
		}
	}
	return n
}

// FinishErasure stages the result of an erasure. It must be called within a change of the
// erasure's partition (projections.Runner.Do).
func (p *Places) FinishErasure(b *store.Batch, e erasure.Erasure) error {
	if err := writeRow(b, erasureKey(e.At), &e); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.erasures[e.At] = &e
	var ended []erasure.Erasure
	for _, known := range p.mu.erasures {
		if !known.EndedAt.IsZero() {
			ended = append(ended, *known)
		}
	}
	slices.SortFunc(ended, compareErasures)
	for _, old := range ended[:max(0, len(ended)-maxErasures)] {
		if err := b.Delete(erasureKey(old.At)); err != nil {
			return err
		}
		delete(p.mu.erasures, old.At)
	}
	return nil
}

// RenewView requests a new snapshot for the View of a partition once the caller, a change
// of the partition (projections.Runner.Do), is committed. Afterwards no snapshot keeps
// rows that were deleted before.
func (p *Places) RenewView(partition int32) { p.ensurePartition(partition).dirty = true }

// CountHeldSegments returns the number of segments of a partition that are kept in the
// segment store because a refused merge named them.
func (p *Places) CountHeldSegments(partition int32) (n int, err error) {
	err = forEachRow(p.store, partitionPrefix(kindHeld, partition), func(_, _ []byte) error { n++; return nil })
	return n, err
}

// RepositoryRows returns the number of rows of a repository.
func (p *Places) RepositoryRows(id code.RepositoryID) (n int, err error) {
	for _, kind := range []byte{kindRepository, kindRef, kindManifest, kindPin, kindEntry, kindKept, kindBroken} {
		err = errors.Join(err, forEachRow(p.store, repositoryPrefix(kind, id), func(_, _ []byte) error { n++; return nil }))
	}
	return n, err
}

// NamedSegments returns the segments that the projection knows: those that it reads,
// those that are held, and those that will be deleted.
func (p *Places) NamedSegments() (map[segment.ID]bool, error) {
	named := map[segment.ID]bool{}
	for _, kind := range []byte{kindSegmentID, kindHeld} {
		err := forEachRow(p.store, newKey(kind, 0), func(k, _ []byte) error {
			if len(k) != partitionPrefixLen+len(segment.ID{}) {
				return ErrCorrupt
			}
			named[segment.ID(k[partitionPrefixLen:])] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	p.sweep.mu.Lock()
	defer p.sweep.mu.Unlock()
	for _, h := range p.sweep.mu.queue {
		named[h.id] = true
	}
	return named, nil
}

// maxSharedDocuments bounds the documents of a repository that SharedDocuments checks.
const maxSharedDocuments = 1 << 20

// SharedDocuments returns how many documents of a repository other repositories also
// contain, among the first maxSharedDocuments.
func (v *View) SharedDocuments(id code.RepositoryID) (int, error) {
	repo := v.Repository(id)
	if repo == nil {
		return 0, fmt.Errorf("repository %s: %w", id, code.ErrNotFound)
	}
	part := v.findPartition(repo.Partition)
	own := map[code.DocumentKey]uint64{}
	err := forEachRow(part.snapshot, repositoryPrefix(kindEntry, id), func(_, value []byte) error {
		e, err := decodeEntry(value)
		if err == nil && e.kind == entryDocument && (len(own) < maxSharedDocuments || own[e.document] > 0) {
			own[e.document]++
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	shared := 0
	for _, d := range slices.SortedFunc(maps.Keys(own), compareDocuments) {
		found, err := v.isShared(d, own[d], repo.Partition)
		if err != nil {
			return 0, err
		}
		if found {
			shared++
		}
	}
	return shared, nil
}

// isShared reports whether a document has more entries than those of one repository.
func (v *View) isShared(d code.DocumentKey, own uint64, of int32) (bool, error) {
	for _, part := range v.parts {
		value, ok, err := part.snapshot.Read(documentKey(kindDocument, part.number, d))
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		row, err := decodeDocumentRow(value)
		if err != nil {
			return false, err
		}
		if part.number == of {
			row.count -= min(own, row.count)
		}
		if row.count > 0 {
			return true, nil
		}
	}
	return false, nil
}
