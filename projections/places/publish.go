package places

import (
	"cmp"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Publish implements projections.Stateful. It creates a new View with the committed
// changes of the partition. It rebuilds the columns of the changed segments and copies a
// few slices of pointers.
func (p *Places) Publish(number int32) {
	part := p.ensurePartition(number)
	if !part.dirty {
		return
	}
	p.rebuildTables(part)
	next := p.newPartitionView(part)
	removed := part.removed
	p.swapView(part, next)
	part.removed, part.dirty = nil, false
	clear(part.changed)
	p.sweep.enqueueSegments(removed...)
}

// publishAll creates the first View.
func (p *Places) publishAll() {
	first := &View{p: p, generation: 1}
	first.refs.Store(1)
	for _, number := range slices.Sorted(maps.Keys(p.mu.partitions)) {
		part := p.mu.partitions[number]
		next := p.newPartitionView(part)
		first.parts = append(first.parts, next)
		first.segments = append(first.segments, next.segments...)
		first.repos = p.updateRepositories(first.repos, part)
		clear(part.changed)
	}
	p.view.Store(first)
}

// rebuildTables updates the columns of the segments.
func (p *Places) rebuildTables(part *partition) {
	for sequence, list := range part.pending {
		h := part.bySequence[sequence]
		if h.reader == nil {
			delete(part.tables, sequence)
			continue
		}
		changes := make([]tableChange, len(list))
		p.mu.Lock()
		for i, pl := range list {
			changes[i] = tableChange{pl, p.indexLocked(pl.repository), i}
		}
		p.mu.Unlock()
		part.tables[sequence] = applyTableChanges(part.tables[sequence], h.reader.Documents(), changes)
	}
	clear(part.pending)
}

// newPartitionView returns the state of the partition for readers. It holds references to
// the segments.
func (p *Places) newPartitionView(part *partition) *partitionView {
	pv := &partitionView{
		number: part.number, generation: part.generation, unheld: part.unheld, brokenRefs: part.brokenRefs, removed: part.removedRepositories,
		snapshot: p.store.NewSnapshot(), bySequence: map[uint32]int{},
	}
	pv.refs.Store(1)
	for _, h := range part.sortedSegments() {
		pv.infos = append(pv.infos, SegmentInfo{
			ID: h.id, Partition: h.partition, Sequence: h.sequence, SizeBytes: h.row.SizeBytes, TextBytes: h.row.TextBytes,
			Documents: h.row.Documents, LiveDocuments: h.row.Live, LiveBytes: h.row.LiveBytes, RemovedAt: h.removedAt, Erase: part.shouldErase(h), Absent: h.reader == nil, Origins: h.origins,
		})
		if h.reader == nil {
			continue
		}
		if part.tables[h.sequence] == nil {
			part.tables[h.sequence] = segment.NewPlacesBuilder(h.reader.Documents()).Build()
		}
		h.views.Add(1)
		pv.bySequence[h.sequence] = len(pv.segments)
		pv.handles = append(pv.handles, h)
		pv.segments = append(pv.segments, Segment{h.reader, part.tables[h.sequence], p.numberAll(h.origins), part.number})
	}
	return pv
}

// numberAll returns the numbers of repositories.
func (p *Places) numberAll(ids []code.RepositoryID) []uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var numbers []uint32
	for _, id := range ids {
		numbers = append(numbers, p.indexLocked(id))
	}
	return numbers
}

// swapView installs next as the view of its partition, in a View that replaces the
// current one.
func (p *Places) swapView(part *partition, next *partitionView) {
	p.mu.Lock()
	old := p.view.Load()
	v := &View{p: p, generation: old.generation + 1}
	v.refs.Store(1)
	i, found := slices.BinarySearchFunc(old.parts, next.number, func(a *partitionView, n int32) int { return cmp.Compare(a.number, n) })
	v.parts = slices.Clone(old.parts)
	if found {
		v.parts[i] = next
	} else {
		v.parts = slices.Insert(v.parts, i, next)
	}
	for _, pv := range v.parts {
		if pv != next {
			pv.refs.Add(1)
		}
		v.segments = append(v.segments, pv.segments...)
	}
	v.repos = old.repos
	if len(part.changed) > 0 {
		v.repos = p.updateRepositoriesLocked(old.repos, part)
	}
	p.view.Store(v)
	p.mu.Unlock()
	old.Release()
}

// updateRepositories returns the list with the changes of the partition.
func (p *Places) updateRepositories(old []*Repository, part *partition) []*Repository {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.updateRepositoriesLocked(old, part)
}

func (p *Places) updateRepositoriesLocked(old []*Repository, part *partition) []*Repository {
	for _, id := range slices.Sorted(maps.Keys(part.changed)) { // the same log must yield the same numbers
		p.indexLocked(id)
	}
	next := make([]*Repository, max(len(p.mu.index), len(old)))
	copy(next, old)
	for id := range part.changed {
		next[p.mu.index[id]] = part.repositories[id]
	}
	return next
}
