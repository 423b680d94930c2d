package registry

import (
	"context"
	"iter"
	"sync"

	"github.com/quarrysearch/quarry/pipeline/pins"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/schemas/code"
)

// ForPins adapts the catalog to pins.Catalog.
func (r *Catalog) ForPins() pins.Catalog { return pinsCatalog{r} }

// pinsCatalog waits for the log before it returns a snapshot.
type pinsCatalog struct{ *Catalog }

// Current implements pins.Catalog.
func (p pinsCatalog) Current(ctx context.Context, previous pins.Snapshot) (pins.Snapshot, error) {
	live := p.versions.Live()
	if live.Meta.IsFrozen() {
		return nil, nil
	}
	if err := p.versions.WaitForLog(ctx, live); err != nil {
		return nil, err
	}
	snapshot := live.Catalog.Snapshot()
	if before, ok := previous.(pinsSnapshot); ok && before.Snapshot == snapshot {
		return nil, nil
	}
	return pinsSnapshot{snapshot, sync.OnceValue(func() *urlIndex { return p.loadURLIndex(snapshot) })}, nil
}

// pinsSnapshot adapts a snapshot of the catalog for package pins.
type pinsSnapshot struct {
	*catalog.Snapshot
	// byURL returns the index of the snapshot, which is built only if a repository has
	// submodules.
	byURL func() *urlIndex
}

// All implements pins.Snapshot.
func (s pinsSnapshot) All() iter.Seq[pins.Repository] {
	return func(yield func(pins.Repository) bool) {
		for _, r := range s.ByName() {
			if !yield(pins.Repository{Repository: r.Repository, Listed: r.ListedSubmodules, Pins: r.Pins}) {
				return
			}
		}
	}
}

// ByCloneURL implements pins.Snapshot.
func (s pinsSnapshot) ByCloneURL(url string) (code.RepositoryID, bool) {
	known := s.byURL().findRepository(url)
	if known == nil {
		return 0, false
	}
	return known.ID, true
}
