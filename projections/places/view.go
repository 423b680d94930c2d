package places

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Repository is a registered repository in a View. It is immutable.
type Repository struct {
	code.Repository
	Partition int32
	// Refs are the indexed refs, in the order of their names.
	Refs []*Ref
	// Default is the default branch; nil if it is not indexed.
	Default *Ref
}

// Ref is an indexed ref. It is immutable.
type Ref struct {
	Ref        code.Ref
	Commit     code.CommitID
	CommitTime time.Time
	IndexedAt  time.Time
	// PushedAt is the time when the first push that led to this commit was received.
	PushedAt time.Time
	// Files counts the searchable files, Skipped the others by reason.
	Files    int
	Skipped  map[code.SkipReason]int
	manifest uint32
	// version is the version of the manifest, or 0 if the ref has not changed since the
	// process began. It only distinguishes the states of a ref within a process.
	version uint32
}

func (r *Repository) findRef(ref code.Ref) (int, bool) {
	return slices.BinarySearchFunc(r.Refs, ref, func(a *Ref, ref code.Ref) int { return cmp.Compare(a.Ref, ref) })
}

// Ref returns the ref with that full name, or nil if it is not indexed. An empty name is
// the default branch.
func (r *Repository) Ref(ref code.Ref) *Ref {
	if ref == "" {
		return r.Default
	}
	if i, found := r.findRef(ref); found {
		return r.Refs[i]
	}
	return nil
}

func (r *Repository) findDefault() {
	r.Default = nil
	if r.DefaultBranch != "" {
		r.Default = r.Ref(code.BranchRef(r.DefaultBranch))
	}
}

// Segment is a segment with the places of its documents.
type Segment struct {
	Reader *segment.Reader
	Places *segment.Places
	// Origins are the repositories that brought the documents, those without a place
	// included, by their number in Places.Repo; nil if they are not known.
	Origins []uint32
	// Partition is the partition of the log that it belongs to.
	Partition int32
}

// SegmentInfo describes the live part of a segment, for the compactor.
type SegmentInfo struct {
	ID        segment.ID
	Partition int32
	// Sequence orders the segments of a partition by the time they were added.
	Sequence  uint32
	SizeBytes int64
	TextBytes int64
	Documents int
	// LiveDocuments and LiveBytes count the documents, and their bytes, that some
	// manifest names and no older segment holds.
	LiveDocuments int
	LiveBytes     int64
	// RemovedAt is the time of the oldest removal of a repository or branch that left
	// text here; zero if there is none.
	RemovedAt time.Time
	// Erase reports that such text must be deleted immediately.
	Erase bool
	// Absent segments are only known by name.
	Absent bool
	// Origins are the repositories that brought the documents; nil if they are not known.
	Origins []code.RepositoryID
}

// View is a consistent, immutable snapshot of all partitions. The caller must release it.
// All methods are safe for concurrent use.
type View struct {
	p          *Places
	refs       atomic.Int64
	generation uint64
	parts      []*partitionView
	repos      []*Repository
	segments   []Segment
}

// partitionView is the state of a partition between two records. Views share it.
type partitionView struct {
	refs       atomic.Int64
	number     int32
	generation uint64
	snapshot   *store.Snapshot
	handles    []*handle
	infos      []SegmentInfo
	segments   []Segment
	// bySequence maps a sequence to an index of segments and handles.
	bySequence map[uint32]int
	unheld     int
	brokenRefs int
	removed    map[code.RepositoryID]*code.Repository
}

// Acquire returns the current View. The caller must release it.
func (p *Places) Acquire() *View {
	for {
		v := p.view.Load()
		if n := v.refs.Load(); n > 0 && v.refs.CompareAndSwap(n, n+1) {
			return v
		}
	}
}

// Release releases the View, which must not be used afterwards.
func (v *View) Release() {
	if v.refs.Add(-1) > 0 {
		return
	}
	for _, part := range v.parts {
		part.releasePartition(v.p)
	}
}

func (pv *partitionView) releasePartition(p *Places) {
	if pv.refs.Add(-1) > 0 {
		return
	}
	// Closing a snapshot fails only if it is closed twice.
	if err := pv.snapshot.Close(); err != nil {
		panic(err)
	}
	for _, h := range pv.handles {
		if h.views.Add(-1) == 0 {
			p.sweep.signalWork()
		}
	}
}

// Generation returns the number of the View, which increases with each publication.
func (v *View) Generation() uint64 { return v.generation }

// Segments returns the segments with the places of the default branches, in the order of
// (partition, sequence). The caller must not modify the slice.
func (v *View) Segments() []Segment { return v.segments }

// Repositories returns the repositories indexed by the number in segment.Places.Repo, nil
// for removed ones. A number identifies the same repository during the life of the
// process. The caller must not modify the slice.
func (v *View) Repositories() []*Repository { return v.repos }

// Repository returns a repository, or nil if it is not registered.
func (v *View) Repository(id code.RepositoryID) *Repository {
	v.p.mu.Lock()
	i, ok := v.p.mu.index[id]
	v.p.mu.Unlock()
	if !ok || int(i) >= len(v.repos) {
		return nil
	}
	return v.repos[i]
}

// Removed returns the repositories that were removed, by their number. Only the ID of a
// repository, and whether it was private, are known.
func (v *View) Removed() map[uint32]*code.Repository {
	v.p.mu.Lock()
	defer v.p.mu.Unlock()
	removed := map[uint32]*code.Repository{}
	for _, part := range v.parts {
		for id, r := range part.removed {
			removed[v.p.indexLocked(id)] = r
		}
	}
	return removed
}

// Origin returns a repository that is registered or was removed, or nil. Of a removed one,
// only the ID and whether it was private are known.
func (v *View) Origin(id code.RepositoryID) *code.Repository {
	if r := v.Repository(id); r != nil {
		return &r.Repository
	}
	for _, part := range v.parts {
		if r := part.removed[id]; r != nil {
			return r
		}
	}
	return nil
}

// SegmentInfos returns the segments from which the compactor chooses, in the order of
// (partition, sequence), including absent ones.
func (v *View) SegmentInfos() []SegmentInfo {
	var infos []SegmentInfo
	for _, part := range v.parts {
		infos = append(infos, part.infos...)
	}
	return infos
}

// UnheldCount returns the number of documents that manifests name and no segment holds.
// Searches miss them until their revision is re-indexed.
func (v *View) UnheldCount() int {
	n := 0
	for _, part := range v.parts {
		n += part.unheld
	}
	return n
}

// BrokenRefs returns the number of refs whose last event could not be applied. Searches show
// their state before it until they are re-indexed.
func (v *View) BrokenRefs() int {
	n := 0
	for _, part := range v.parts {
		n += part.brokenRefs
	}
	return n
}

// findPartition returns the view of a partition, or nil if there is none.
func (v *View) findPartition(number int32) *partitionView {
	i, ok := slices.BinarySearchFunc(v.parts, number, func(p *partitionView, n int32) int { return cmp.Compare(p.number, n) })
	if !ok {
		return nil
	}
	return v.parts[i]
}
