package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Repository is a registered repository.
type Repository struct {
	code.Repository
	RegisteredAt, ChangedAt time.Time
	// IndexedAt is the time when a worker finished the last applied revision; zero if
	// there was none.
	IndexedAt time.Time
	// PushedAt is the newest commit time of the refs; zero if there is no ref.
	PushedAt time.Time
	// Refs is the number of indexed refs.
	Refs int
	// ScipUploads are its precise indexes, newest first; at most event.MaxScipUploads.
	ScipUploads []ScipUpload
	// ListedSubmodules are the submodules of its default branch; empty unless its option
	// Submodules is set; at most event.MaxSubmodules.
	ListedSubmodules []code.Submodule
	// Pins are the commits to index for submodules of other repositories; at most
	// event.MaxPins. Those to which a selected branch or tag leads are indexed as refs.
	Pins []code.CommitID
	// PrivateMark is 1 + the offset of the last event that said that the repository is
	// private, or 0; see event.RepositoryChanged.
	PrivateMark event.Offset
}

// Ref is an indexed ref.
type Ref struct {
	Ref        code.Ref
	Commit     code.CommitID
	CommitTime time.Time
	IndexedAt  time.Time
	// ReceivedAt is the time when the first push that led to this commit was received.
	ReceivedAt time.Time
}

func (row *repositoryRow) toRepository() *Repository {
	return &Repository{
		Repository: row.Repository, RegisteredAt: row.RegisteredAt, ChangedAt: row.ChangedAt,
		IndexedAt: row.IndexedAt, PushedAt: row.PushedAt, Refs: row.Refs, ScipUploads: row.ScipUploads,
		ListedSubmodules: row.Submodules, Pins: row.Pins, PrivateMark: row.PrivateMark,
	}
}

// Snapshot contains all repositories at one point in time. It is immutable.
type Snapshot struct {
	byID, byName []*Repository
	marks        map[code.RepositoryID]event.Offset // private marks of removed repositories
	superseded   chan struct{}
}

func compareID(a, b *Repository) int { return cmp.Compare(a.ID, b.ID) }

// CompareNames compares repositories in the order of Snapshot.ByName.
func CompareNames(a, b *Repository) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), compareID(a, b))
}

func newSnapshot(all []*Repository, marks map[code.RepositoryID]event.Offset) *Snapshot {
	s := &Snapshot{byID: all, byName: slices.Clone(all), marks: marks, superseded: make(chan struct{})}
	slices.SortFunc(s.byID, compareID)
	slices.SortFunc(s.byName, CompareNames)
	return s
}

// withChanges returns the snapshot after the changes; a Repository without a name is
// removed. It copies two slices of pointers, which takes 10 µs for ten thousand repositories.
func (s *Snapshot) withChanges(changed map[code.RepositoryID]*Repository) *Snapshot {
	kept := func(in []*Repository) []*Repository {
		out := make([]*Repository, 0, len(in)+len(changed))
		for _, r := range in {
			if _, ok := changed[r.ID]; !ok {
				out = append(out, r)
			}
		}
		return out
	}
	next := &Snapshot{byID: kept(s.byID), byName: kept(s.byName), marks: s.marks, superseded: make(chan struct{})}
	for id, r := range changed {
		mark := event.Offset(0)
		if r.Name == "" {
			mark = r.PrivateMark
		}
		if mark != next.marks[id] {
			next.marks = maps.Clone(next.marks)
			if next.marks[id] = mark; mark == 0 {
				delete(next.marks, id)
			}
		}
		if r.Name != "" {
			next.byID = insertSorted(next.byID, r, compareID)
			next.byName = insertSorted(next.byName, r, CompareNames)
		}
	}
	return next
}

func insertSorted(in []*Repository, r *Repository, compare func(a, b *Repository) int) []*Repository {
	i, _ := slices.BinarySearchFunc(in, r, compare)
	return slices.Insert(in, i, r)
}

// Superseded returns a channel that is closed once the Catalog has a newer snapshot.
func (s *Snapshot) Superseded() <-chan struct{} { return s.superseded }

// ChangedSince returns the repositories that are missing in an earlier snapshot or have
// another state there, in the order of their IDs. A nil snapshot has no repositories.
func (s *Snapshot) ChangedSince(earlier *Snapshot) []*Repository {
	var before []*Repository
	if earlier != nil {
		before = earlier.byID
	}
	var changed []*Repository
	at := 0
	for _, r := range s.byID {
		for at < len(before) && before[at] != r && before[at].ID < r.ID {
			at++
		}
		if at < len(before) && before[at] == r {
			at++
			continue
		}
		changed = append(changed, r)
	}
	return changed
}

// Len returns the number of repositories.
func (s *Snapshot) Len() int { return len(s.byID) }

// ByID returns the repository with that ID, and reports whether there is one.
func (s *Snapshot) ByID(id code.RepositoryID) (*Repository, bool) {
	i, ok := slices.BinarySearchFunc(s.byID, id, func(r *Repository, id code.RepositoryID) int { return cmp.Compare(r.ID, id) })
	if !ok {
		return nil, false
	}
	return s.byID[i], true
}

// PrivateMark returns the private mark of a repository, also of one that was removed; see
// Repository.
func (s *Snapshot) PrivateMark(id code.RepositoryID) event.Offset {
	if r, found := s.ByID(id); found {
		return r.PrivateMark
	}
	return s.marks[id]
}

// FindByName returns the repository with that full name, and reports whether there is
// one. Names need not be unique: among several, it returns the one with the lowest ID.
func (s *Snapshot) FindByName(name string) (*Repository, bool) {
	i, ok := slices.BinarySearchFunc(s.byName, name, func(r *Repository, name string) int { return strings.Compare(r.Name, name) })
	if !ok {
		return nil, false
	}
	return s.byName[i], true
}

// ByName returns all repositories in the order of (name, ID). The caller must not modify
// the slice.
func (s *Snapshot) ByName() []*Repository { return s.byName }
