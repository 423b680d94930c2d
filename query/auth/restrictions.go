package auth

import (
	"sync"

	"github.com/quarrysearch/quarry/schemas/code"
)

// maxRestrictions bounds the cached sets. When it is exceeded, all are dropped: they are
// quickly rebuilt, and so many restricted credentials are rarely in use.
const maxRestrictions = 1024

// restrictions caches the repository sets of restricted keys and tokens by the hash of
// the credential, so that requests do not rebuild them. A credential's repositories never
// change.
type restrictions struct {
	mu struct {
		sync.RWMutex
		sets map[string]map[code.RepositoryID]struct{}
	}
}

// repositorySet returns the set of the IDs in ids, limited to only unless only is empty.
func (r *restrictions) repositorySet(hash string, ids, only []code.RepositoryID) map[code.RepositoryID]struct{} {
	r.mu.RLock()
	set, found := r.mu.sets[hash]
	r.mu.RUnlock()
	if found {
		return set
	}
	set = asSet(ids, only)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.sets == nil || len(r.mu.sets) >= maxRestrictions {
		r.mu.sets = map[string]map[code.RepositoryID]struct{}{}
	}
	r.mu.sets[hash] = set
	return set
}
