package server

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// repositories is the catalog as the API and the receiver of web hooks see it.
type repositories struct {
	versions *versions
	byURL    atomic.Pointer[urlIndex]
	list     atomic.Pointer[nameList]
}

// nameList is the repositories of one snapshot as queries see them.
type nameList struct {
	snapshot *catalog.Snapshot
	list     []*search.Repository
}

// urlIndex finds the repositories of one snapshot by clone URL. It is made once
// for a snapshot: snapshots change when a repository does, which is rarer than
// a push.
type urlIndex struct {
	snapshot *catalog.Snapshot
	byURL    map[cloneKey]*catalog.Repository
}

// cloneKey is what code.CloneURL.Same compares.
type cloneKey struct{ host, path string }

var _ api.Catalog = (*repositories)(nil)

// Repositories implements api.Catalog. The commit of each is known to the views
// only, and a list does not show it. The list is made once for a snapshot, of that
// of the one before as far as it is the same; two callers at once may both make it.
func (r *repositories) Repositories(context.Context) ([]*search.Repository, error) {
	snapshot, before := r.versions.live.Load().catalog.Snapshot(), r.list.Load()
	if before != nil && before.snapshot == snapshot {
		return before.list, nil
	}
	next := &nameList{snapshot, nameListOf(snapshot.ByName(), before)}
	r.list.Store(next)
	return next.list, nil
}

// nameListOf walks along two lists in one order, so that what has not changed is
// found without a search.
func nameListOf(all []*catalog.Repository, before *nameList) []*search.Repository {
	var old []*catalog.Repository
	if before != nil {
		old = before.snapshot.ByName()
	}
	out := make([]*search.Repository, len(all))
	at := 0
	for i, known := range all {
		for at < len(old) && catalog.CompareNames(old[at], known) < 0 {
			at++
		}
		if at < len(old) && old[at] == known {
			out[i] = before.list[at]
		} else {
			out[i] = searchRepository(known)
		}
	}
	return out
}

func searchRepository(r *catalog.Repository) *search.Repository {
	return &search.Repository{Repository: r.Repository, IndexedAt: r.IndexedAt, PushedAt: r.PushedAt}
}

// Find implements api.Catalog; known makes of it what web hooks ask.
func (r *repositories) Find(_ context.Context, candidate code.Repository) (code.Repository, error) {
	snapshot := r.versions.live.Load().catalog.Snapshot()
	if known, ok := snapshot.ByID(candidate.ID); ok {
		return known.Repository, nil
	}
	if candidate.CloneURL != "" {
		if known := r.index(snapshot).find(candidate.CloneURL); known != nil {
			return known.Repository, nil
		}
	} else if known, ok := snapshot.Named(candidate.Name); ok {
		return known.Repository, nil
	}
	return code.Repository{}, fmt.Errorf("repository %s%s: %w", candidate.Name, candidate.CloneURL, code.ErrNotFound)
}

// index returns the index of snapshot. Two callers that find it stale at once
// both make it; either result is right.
func (r *repositories) index(snapshot *catalog.Snapshot) *urlIndex {
	if index := r.byURL.Load(); index != nil && index.snapshot == snapshot {
		return index
	}
	index := &urlIndex{snapshot: snapshot, byURL: make(map[cloneKey]*catalog.Repository, snapshot.Len())}
	for _, known := range snapshot.ByName() {
		if key, ok := keyOf(known.CloneURL); ok {
			index.byURL[key] = known
		}
	}
	r.byURL.Store(index)
	return index
}

func (u *urlIndex) find(cloneURL string) *catalog.Repository {
	key, ok := keyOf(cloneURL)
	if !ok {
		return nil
	}
	return u.byURL[key]
}

func keyOf(cloneURL string) (cloneKey, bool) {
	parsed, err := code.ParseCloneURL(cloneURL)
	return cloneKey{parsed.Host, parsed.Path}, err == nil
}
