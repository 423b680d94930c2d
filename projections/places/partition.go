package places

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
)

// partition is the state of one partition after the last committed record. It belongs to
// the goroutine that applies the partition.
type partition struct {
	number       int32
	repositories map[code.RepositoryID]*Repository
	// removedRepositories holds the rows of removed repositories. It is copied when it
	// changes.
	removedRepositories map[code.RepositoryID]*code.Repository
	byID                map[segment.ID]*handle
	bySequence          map[uint32]*handle
	tables              map[uint32]*segment.Places
	// generation changes when a document moves or a segment is removed, because cached
	// results may then reference the old location.
	generation uint64
	unheld     int
	brokenRefs int // refs whose last event could not be applied

	// eraseUntil is the time of the latest erasure: text of removals until then must be
	// deleted immediately. erased holds the times at which repositories were erased.
	eraseUntil time.Time
	erased     map[code.RepositoryID]time.Time

	// applied is the change of the last Apply, until it is committed or discarded.
	applied *staged
	// Changes committed since the last publication.
	changed map[code.RepositoryID]bool
	pending map[uint32][]locatedChange
	removed []*handle
	dirty   bool
}

// staged holds the changes of a record to the state in memory.
type staged struct {
	number         int32
	claims         []segment.ID
	added, dropped []*handle
	// ingested are the segments ingested for the record, applied or not.
	ingested     []*handle
	rows         []rowOf
	repositories map[code.RepositoryID]*Repository // nil: removed
	tombstone    *code.Repository                  // of the removed repository
	places       map[uint32][]locatedChange
	moved        bool
	unheld       int
	brokenRefs   int // added, or removed if negative
	// marks are the new marks of segments, by sequence; zero for none.
	marks map[uint32]time.Time
	// waitingMark is the mark of segments that wait for their deletion; zero for none.
	waitingMark time.Time

	erasure  *erasure.Erasure
	outcomes []string
	broken   []*BrokenError
}

// rowOf is the new row of a segment.
type rowOf struct {
	sequence uint32
	row      segmentRow
}

// locatedChange is a placeChange with the document in its segment.
type locatedChange struct {
	document segment.DocID
	placeChange
}

func newPartition(number int32) *partition {
	return &partition{
		number: number, repositories: map[code.RepositoryID]*Repository{}, removedRepositories: map[code.RepositoryID]*code.Repository{}, byID: map[segment.ID]*handle{},
		bySequence: map[uint32]*handle{}, tables: map[uint32]*segment.Places{},
		changed: map[code.RepositoryID]bool{}, pending: map[uint32][]locatedChange{}, erased: map[code.RepositoryID]time.Time{},
	}
}

func (s *staged) addPlace(at location, p placeChange) {
	if s.places == nil {
		s.places = map[uint32][]locatedChange{}
	}
	s.places[at.sequence] = append(s.places[at.sequence], locatedChange{at.document, p})
}

// stageRepository returns a copy of the repository that the record may change.
func (s *staged) stageRepository(part *partition, row *repositoryRow) *Repository {
	id := row.Repository.ID
	if s.repositories == nil {
		s.repositories = map[code.RepositoryID]*Repository{}
	}
	next := &Repository{Partition: part.number}
	if known := part.repositories[id]; known != nil {
		*next = *known
		next.Refs = slices.Clone(known.Refs)
	}
	next.Repository = row.Repository
	s.repositories[id] = next
	return next
}

func (s *staged) setRepository(part *partition, row *repositoryRow) {
	s.stageRepository(part, row).findDefault()
}

// setRef sets the new state of a ref, or deletes it if target is nil.
func (s *staged) setRef(part *partition, row *repositoryRow, ref code.Ref, next *refRow, t *target) error {
	repo := s.stageRepository(part, row)
	i, found := repo.findRef(ref)
	switch {
	case t == nil && found:
		repo.Refs = slices.Delete(repo.Refs, i, i+1)
	case t != nil && found:
		repo.Refs[i] = next.toRef(ref, t.row.Version)
	case t != nil:
		repo.Refs = slices.Insert(repo.Refs, i, next.toRef(ref, t.row.Version))
	}
	repo.findDefault()
	return nil
}

func (s *staged) removeRepository(id code.RepositoryID) {
	s.repositories = map[code.RepositoryID]*Repository{id: nil}
}

func (row *refRow) toRef(ref code.Ref, version uint32) *Ref {
	return &Ref{
		Ref: ref, Commit: row.Commit, CommitTime: row.CommitTime, IndexedAt: row.IndexedAt,
		PushedAt: row.PushedAt, Files: row.Files, Skipped: row.Skipped, manifest: row.Manifest, version: version,
	}
}

// Committed implements projections.Stateful.
func (p *Places) Committed(number int32) {
	part := p.ensurePartition(number)
	s := part.applied
	part.applied = nil
	if s == nil {
		return
	}
	if !s.waitingMark.IsZero() {
		for _, h := range part.removed {
			h.removedAt = earlierTime(h.removedAt, s.waitingMark)
		}
		p.sweep.markWaiting(number, s.waitingMark)
	}
	part.applyStaged(s)
	if s.erasure != nil {
		p.addErasure(part, *s.erasure)
	}
	for _, h := range s.added {
		p.sweep.claimKeys(h.id)
	}
	for _, h := range s.dropped {
		p.sweep.releaseKeys(h.id)
	}
	p.releaseClaims(s)
	p.reportOutcome(s)
}

// Discarded implements projections.Stateful.
func (p *Places) Discarded(number int32) {
	part := p.ensurePartition(number)
	if s := part.applied; s != nil {
		p.releaseClaims(s)
	}
	part.applied = nil
}

// releaseClaims releases the keys that a record claimed, and deletes segments that it
// ingested but does not use.
func (p *Places) releaseClaims(s *staged) {
	for _, id := range s.claims {
		p.sweep.releaseKeys(id)
	}
	part := p.ensurePartition(s.number)
	for _, h := range s.ingested {
		if part.bySequence[h.sequence] != h {
			p.sweep.enqueueSegments(h)
		}
	}
}

// reportOutcome counts and logs the parts of a committed record that did not apply.
func (p *Places) reportOutcome(s *staged) {
	for _, outcome := range s.outcomes {
		p.metrics.broken.WithLabelValues(outcome).Inc()
	}
	for _, broken := range s.broken {
		p.log.Warn("a revision could not be applied", "repository", broken.Repository.String(), "revision", string(broken.Commit), "error", broken)
	}
	for _, h := range s.added {
		if h.reader == nil {
			p.metrics.broken.WithLabelValues(outcomeAbsent).Inc()
		}
	}
}

// applyStaged applies the staged changes to the partition.
func (part *partition) applyStaged(s *staged) {
	part.dirty = true
	for _, h := range s.added {
		if old := part.bySequence[h.sequence]; old != nil {
			// The old handle was absent; its claim is released with it.
			s.claims = append(s.claims, old.id)
		}
		part.byID[h.id], part.bySequence[h.sequence] = h, h
		if h.reader == nil {
			delete(part.tables, h.sequence)
		}
	}
	for _, r := range s.rows {
		part.bySequence[r.sequence].row = r.row
	}
	part.takeMarks(s)
	for _, h := range s.dropped {
		delete(part.bySequence, h.sequence)
		delete(part.tables, h.sequence)
		delete(part.pending, h.sequence)
		if part.byID[h.id] == h {
			delete(part.byID, h.id)
		}
		part.removed = append(part.removed, h)
	}
	for id, repo := range s.repositories {
		if repo == nil {
			delete(part.repositories, id)
			part.removedRepositories = maps.Clone(part.removedRepositories) // views hold it
			part.removedRepositories[id] = s.tombstone
		} else {
			part.repositories[id] = repo
			if part.removedRepositories[id] != nil {
				part.removedRepositories = maps.Clone(part.removedRepositories)
				delete(part.removedRepositories, id)
			}
		}
		part.changed[id] = true
	}
	for sequence, list := range s.places {
		part.pending[sequence] = append(part.pending[sequence], list...)
	}
	part.unheld += s.unheld
	part.brokenRefs += s.brokenRefs
	if s.moved || len(s.dropped) > 0 {
		part.generation++
	}
}

// sortedSegments returns the partition's segments in the order of their sequences.
func (part *partition) sortedSegments() []*handle {
	handles := make([]*handle, 0, len(part.bySequence))
	for _, h := range part.bySequence {
		handles = append(handles, h)
	}
	slices.SortFunc(handles, func(a, b *handle) int { return cmp.Compare(a.sequence, b.sequence) })
	return handles
}
