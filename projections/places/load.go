package places

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// loadState fills the partitions from the rows of the store.
func (p *Places) loadState(ctx context.Context) error {
	var lost []*handle
	for _, step := range []func() error{
		func() (err error) { lost, err = p.loadSegments(ctx); return err },
		func() error { return p.excludeLost(lost) },
		p.loadErasures, p.loadMarks, p.loadRepositories, p.loadRemoved, p.loadRefs, p.loadPlaces, p.loadUnheld, p.loadBroken, p.loadDoomed,
		func() error { return p.exciseOrphans(ctx) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("places: open: %w", err)
		}
	}
	return nil
}

// forEachRow calls f for every row of the store that begins with prefix.
func forEachRow(r store.Reader, prefix []byte, f func(k, v []byte) error) error {
	return forEachRowBetween(r, prefix, store.Successor(prefix), f)
}

// forEachRowBetween calls f for every row of the store with a key in [from, to).
func forEachRowBetween(r store.Reader, from, to []byte, f func(k, v []byte) error) error {
	it, err := r.Iter(from, to)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err := f(it.Key(), it.Value()); err != nil {
			return errors.Join(fmt.Errorf("row %q: %w", it.Key(), err), it.Close())
		}
	}
	return it.Close()
}

// loadSegments opens the segments. It restores unreadable ones, and returns those of
// which the segment store has no intact copy.
func (p *Places) loadSegments(ctx context.Context) (lost []*handle, err error) {
	return lost, forEachRow(p.store, newKey(kindSegment, 0), func(k, v []byte) error {
		part := p.ensurePartition(int32(binary.BigEndian.Uint32(k[2:])))
		h := &handle{partition: part.number, sequence: binary.BigEndian.Uint32(k[partitionPrefixLen:])}
		if err := json.Unmarshal(v, &h.row); err != nil {
			return err
		}
		var err error
		if h.id, err = segment.ParseID(h.row.ID); err != nil {
			return err
		}
		if h.origins, err = readOrigins(p.store, h.partition, h.sequence); err != nil {
			return err
		}
		if !h.row.Absent {
			err := p.open(h)
			if isUnreadable(err) {
				p.log.Error("segment cannot be read; restoring it from the segment store", "segment", h.row.ID, "error", err)
				err = p.restoreSegment(ctx, h)
			}
			if err != nil {
				return fmt.Errorf("%w; rebuild with quarry replay", err)
			}
			if h.reader == nil {
				lost = append(lost, h)
			}
		}
		part.byID[h.id], part.bySequence[h.sequence] = h, h
		p.sweep.claimKeys(h.id)
		return nil
	})
}

// readOrigins returns the origins of a segment, or nil if they are not known.
func readOrigins(r store.Reader, partition int32, sequence uint32) ([]code.RepositoryID, error) {
	row, _, err := r.Read(originsKey(partition, sequence))
	if err == nil && len(row)%8 != 0 {
		err = fmt.Errorf("origins: %w", ErrCorrupt)
	}
	var origins []code.RepositoryID
	for ; err == nil && len(row) > 0; row = row[8:] {
		origins = append(origins, code.RepositoryID(binary.BigEndian.Uint64(row)))
	}
	return origins, err
}

func (p *Places) loadRepositories() error {
	return forEachRow(p.store, newKey(kindRepository, 0), func(_, v []byte) error {
		var row repositoryRow
		if err := json.Unmarshal(v, &row); err != nil {
			return err
		}
		part := p.ensurePartition(row.Since.Partition)
		part.repositories[row.Repository.ID] = &Repository{Repository: row.Repository, Partition: part.number}
		part.changed[row.Repository.ID] = true
		p.indexOf(row.Repository.ID)
		return nil
	})
}

// loadRemoved loads the rows of removed repositories into the first partition: no record
// concerns them any more unless they are registered again.
func (p *Places) loadRemoved() error {
	return forEachRow(p.store, newKey(kindRemoved, 0), func(_, v []byte) error {
		r := new(code.Repository)
		if err := json.Unmarshal(v, r); err != nil {
			return err
		}
		p.ensurePartition(0).removedRepositories[r.ID] = r
		return nil
	})
}

func (p *Places) loadRefs() error {
	var repo *Repository
	err := forEachRow(p.store, newKey(kindRef, 0), func(k, v []byte) error {
		id := code.RepositoryID(binary.BigEndian.Uint64(k[2:]))
		if repo == nil || repo.ID != id {
			if repo = p.findRepository(id); repo == nil {
				return fmt.Errorf("ref of a repository that is not there: %w", ErrCorrupt)
			}
		}
		var row refRow
		if err := json.Unmarshal(v, &row); err != nil {
			return err
		}
		if row.Commit != "" {
			repo.Refs = append(repo.Refs, row.toRef(code.Ref(k[repositoryPrefixLen:]), 0))
		}
		return nil
	})
	for _, part := range p.mu.partitions {
		for _, repo := range part.repositories {
			repo.findDefault()
		}
	}
	return err
}

func (p *Places) findRepository(id code.RepositoryID) *Repository {
	for _, part := range p.mu.partitions {
		if repo := part.repositories[id]; repo != nil {
			return repo
		}
	}
	return nil
}

// loadPlaces builds the columns of every segment from its places, whose keys are ordered
// by (segment, document, repository, path). A place takes half a microsecond of processor
// time, so the processors share the segments.
func (p *Places) loadPlaces() error {
	all := newKey(kindPlace, 0)
	bounds, documents := [][]byte{all}, 0 // of ranges of keys
	for _, number := range slices.Sorted(maps.Keys(p.mu.partitions)) {
		for _, h := range p.mu.partitions[number].sortedSegments() {
			if documents += h.row.Documents; documents >= loadDocuments {
				bounds, documents = append(bounds, store.AppendUint32(partitionPrefix(kindPlace, number), h.sequence)), 0
			}
		}
	}
	bounds = append(bounds, store.Successor(all))
	var mu sync.Mutex // guards the tables of the partitions
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, from := range bounds[:len(bounds)-1] {
		g.Go(func() error {
			return p.loadPlacesBetween(from, bounds[i+1], func(h *handle, table *segment.Places) {
				mu.Lock()
				defer mu.Unlock()
				p.mu.partitions[h.partition].tables[h.sequence] = table
			})
		})
	}
	return g.Wait()
}

// loadDocuments is the number of documents from which the places of further segments are
// loaded on another processor.
const loadDocuments = 1 << 14

// loadPlacesBetween builds the columns of the segments whose places have keys in [from, to).
func (p *Places) loadPlacesBetween(from, to []byte, done func(*handle, *segment.Places)) error {
	var current *handle
	var builder *segment.PlacesBuilder
	finish := func() {
		if current != nil {
			done(current, builder.Build())
		}
	}
	err := forEachRowBetween(p.store, from, to, func(k, v []byte) error {
		if len(k) < placePrefixLen+8 || len(v) != 1 {
			return ErrCorrupt
		}
		partition, sequence := int32(binary.BigEndian.Uint32(k[2:])), binary.BigEndian.Uint32(k[partitionPrefixLen:])
		if current == nil || current.partition != partition || current.sequence != sequence {
			finish()
			current = p.ensurePartition(partition).bySequence[sequence]
			if current == nil || current.reader == nil {
				return fmt.Errorf("place in a segment that is not there: %w", ErrCorrupt)
			}
			builder = segment.NewPlacesBuilder(current.reader.Documents())
		}
		document := binary.BigEndian.Uint32(k[partitionPrefixLen+4:])
		id := code.RepositoryID(binary.BigEndian.Uint64(k[placePrefixLen:]))
		if int(document) >= current.reader.Documents() {
			return fmt.Errorf("place of document %d of %d: %w", document, current.reader.Documents(), ErrCorrupt)
		}
		builder.Add(segment.DocID(document), p.mu.index[id], segment.NoRef, code.Flags(v[0]), string(k[placePrefixLen+8:]))
		return nil
	})
	if err == nil {
		finish()
	}
	return err
}

func (p *Places) loadUnheld() error {
	return forEachRow(p.store, newKey(kindUnheld, 0), func(k, _ []byte) error {
		p.ensurePartition(int32(binary.BigEndian.Uint32(k[2:]))).unheld++
		return nil
	})
}

func (p *Places) loadBroken() error {
	return forEachRow(p.store, newKey(kindBroken, 0), func(_, value []byte) error {
		var b BrokenError
		if err := json.Unmarshal(value, &b); err != nil {
			return err
		}
		p.ensurePartition(b.Position.Partition).brokenRefs++
		return nil
	})
}

// loadDoomed queues the objects that a previous process did not delete.
func (p *Places) loadDoomed() error {
	return forEachRow(p.store, doomedPrefix(), func(k, v []byte) error {
		h, err := doomedHandle(k, v)
		if err == nil {
			p.sweep.enqueueSegments(h)
		}
		return err
	})
}

// doomedHandle returns the segment of a row 'x' of the local family.
func doomedHandle(k, v []byte) (*handle, error) {
	const idLen = len(segment.ID{})
	if len(k) != partitionPrefixLen+12 || len(v) != idLen && len(v) != idLen+8 {
		return nil, ErrCorrupt
	}
	h := &handle{
		id: segment.ID(v[:idLen]), partition: int32(binary.BigEndian.Uint32(k[2:])), doomedRow: append([]byte(nil), k...), inherited: true,
	}
	if len(v) > idLen {
		h.removedAt = parseMark(v[idLen:])
	}
	return h, nil
}

// appendDoomed appends the value of a row 'x': the ID and the mark, if there is one.
func (h *handle) appendDoomed(b []byte) []byte {
	b = append(b, h.id[:]...)
	if h.removedAt.IsZero() {
		return b
	}
	return appendMark(b, h.removedAt)
}

// exciseOrphans removes segments that were ingested for a record whose batch was lost,
// and dropped segments that no earlier process excised.
func (p *Places) exciseOrphans(ctx context.Context) error {
	if p.keepSegments {
		return nil
	}
	it, err := p.store.Iter([]byte{segment.KeyPrefix}, []byte{segment.KeyPrefix + 1})
	if err != nil {
		return err
	}
	var orphans []segment.ID
	for ok := it.First(); ok; {
		id, valid := segment.IDOfKey(it.Key())
		if !valid {
			return errors.Join(fmt.Errorf("key %q: %w", it.Key(), ErrCorrupt), it.Close())
		}
		if p.sweep.mu.live[id] == 0 {
			orphans = append(orphans, id)
		}
		_, hi := segment.KeyRange(id)
		ok = it.SeekGE(hi)
	}
	if err := it.Close(); err != nil {
		return err
	}
	for _, id := range orphans {
		lo, hi := segment.KeyRange(id)
		if err := p.store.Excise(ctx, lo, hi); err != nil {
			return err
		}
	}
	return nil
}

// indexOf returns the number of a repository, and assigns one on the first call.
func (p *Places) indexOf(id code.RepositoryID) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.indexLocked(id)
}

func (p *Places) indexLocked(id code.RepositoryID) uint32 {
	i, ok := p.mu.index[id]
	if !ok {
		i = uint32(len(p.mu.index))
		p.mu.index[id] = i
	}
	return i
}
