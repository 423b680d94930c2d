package registry

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Catalog lists the registered repositories for the API.
type Catalog struct {
	versions *versions.Versions
	// hasNumber reports whether a repository has a number; others are not listed.
	hasNumber func(code.RepositoryID) bool
	byURL     atomic.Pointer[urlIndex]
	list      atomic.Pointer[nameList]
}

// NewCatalog returns the repositories of the live version. It does not list those without
// a number.
func NewCatalog(v *versions.Versions, hasNumber func(code.RepositoryID) bool) *Catalog {
	return &Catalog{versions: v, hasNumber: hasNumber}
}

// nameList holds the repositories of one snapshot as queries see them.
type nameList struct {
	snapshot *catalog.Snapshot
	// all holds the repositories of the snapshot, in its order. list holds those that
	// have a number, and numberless those that do not have one yet.
	all, list  []*corpus.Repository
	numberless []code.RepositoryID
}

// urlIndex finds the repositories of one snapshot by clone URL. It is built once for each
// snapshot: a snapshot changes only when a repository does, which is less frequent than a
// push.
type urlIndex struct {
	snapshot *catalog.Snapshot
	byURL    map[cloneKey]*catalog.Repository
}

// cloneKey holds the parts that code.CloneURL.Same compares.
type cloneKey struct{ host, path string }

var _ api.Catalog = (*Catalog)(nil)

// Repositories implements api.Catalog. It omits the commits, which only the views know.
// The list is built once for each snapshot and reuses unchanged parts of the previous
// list. Two concurrent callers may both build it.
func (r *Catalog) Repositories(context.Context) ([]*corpus.Repository, error) {
	snapshot, before := r.versions.Live().Catalog.Snapshot(), r.list.Load()
	if before != nil && before.snapshot == snapshot && !slices.ContainsFunc(before.numberless, r.hasNumber) {
		return before.list, nil
	}
	next := &nameList{snapshot: snapshot, all: searchRepositories(snapshot.ByName(), before)}
	next.list = next.all
	for _, known := range snapshot.ChangedSince(numberedOf(before)) {
		if !r.hasNumber(known.ID) {
			next.numberless = append(next.numberless, known.ID)
		}
	}
	if len(next.numberless) > 0 {
		next.list = slices.DeleteFunc(slices.Clone(next.all), func(x *corpus.Repository) bool { return slices.Contains(next.numberless, x.ID) })
	}
	r.list.Store(next)
	return next.list, nil
}

// numberedOf returns the snapshot of a list in which every repository had a number, or
// nil if there is none.
func numberedOf(before *nameList) *catalog.Snapshot {
	if before == nil || len(before.numberless) > 0 {
		return nil
	}
	return before.snapshot
}

// searchRepositories merges two lists in the same order, so that it finds unchanged
// repositories without a lookup.
func searchRepositories(all []*catalog.Repository, before *nameList) []*corpus.Repository {
	var old []*catalog.Repository
	if before != nil {
		old = before.snapshot.ByName()
	}
	out := make([]*corpus.Repository, len(all))
	at := 0
	for i, known := range all {
		for at < len(old) && catalog.CompareNames(old[at], known) < 0 {
			at++
		}
		if at < len(old) && old[at] == known {
			out[i] = before.all[at]
		} else {
			out[i] = SearchRepository(known)
		}
	}
	return out
}

// SearchRepository returns a repository as searches see it, without its commit.
func SearchRepository(r *catalog.Repository) *corpus.Repository {
	return &corpus.Repository{Repository: r.Repository, IndexedAt: r.IndexedAt, PushedAt: r.PushedAt}
}

// Find implements api.Catalog.
func (r *Catalog) Find(_ context.Context, candidate code.Repository) (code.Repository, error) {
	snapshot := r.versions.Live().Catalog.Snapshot()
	if known, ok := snapshot.ByID(candidate.ID); ok {
		return known.Repository, nil
	}
	if candidate.CloneURL != "" {
		if known := r.loadURLIndex(snapshot).findRepository(candidate.CloneURL); known != nil {
			return known.Repository, nil
		}
	} else if known, ok := snapshot.FindByName(candidate.Name); ok {
		return known.Repository, nil
	}
	return code.Repository{}, fmt.Errorf("repository %s%s: %w", candidate.Name, candidate.CloneURL, code.ErrNotFound)
}

// loadURLIndex returns the index of snapshot. Two callers that find it stale may both
// build it; either result is correct.
func (r *Catalog) loadURLIndex(snapshot *catalog.Snapshot) *urlIndex {
	if index := r.byURL.Load(); index != nil && index.snapshot == snapshot {
		return index
	}
	index := &urlIndex{snapshot: snapshot, byURL: make(map[cloneKey]*catalog.Repository, snapshot.Len())}
	for _, known := range snapshot.ByName() {
		if key, ok := parseCloneKey(known.CloneURL); ok {
			index.byURL[key] = known
		}
	}
	r.byURL.Store(index)
	return index
}

func (u *urlIndex) findRepository(cloneURL string) *catalog.Repository {
	key, ok := parseCloneKey(cloneURL)
	if !ok {
		return nil
	}
	return u.byURL[key]
}

func parseCloneKey(cloneURL string) (cloneKey, bool) {
	parsed, err := code.ParseCloneURL(cloneURL)
	return cloneKey{parsed.Host, parsed.Path}, err == nil
}
