package registry

import (
	"context"
	"iter"

	"github.com/quarrysearch/quarry/pipeline/pins"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/schemas/code"
)

var _ pins.Catalog = (*Catalog)(nil)

// ForPins implements pins.Catalog.
func (r *Catalog) ForPins(ctx context.Context, previous pins.Snapshot) (pins.Snapshot, error) {
	live := r.versions.Live()
	if live.Meta.IsFrozen() { // it shows a moment of the past
		return nil, nil
	}
	if err := r.versions.WaitForLog(ctx, live); err != nil {
		return nil, err
	}
	snapshot := live.Catalog.Snapshot()
	if before, ok := previous.(pinsSnapshot); ok && before.Snapshot == snapshot {
		return nil, nil
	}
	return pinsSnapshot{snapshot, r}, nil
}

// pinsSnapshot adapts a snapshot of the catalog for package pins.
type pinsSnapshot struct {
	*catalog.Snapshot
	catalog *Catalog
}

// All implements pins.Snapshot.
func (s pinsSnapshot) All() iter.Seq[pins.Repository] {
	return func(yield func(pins.Repository) bool) {
		for _, r := range s.ByName() {
			if !yield(pins.Repository{Repository: r.Repository, Listed: r.Submodules, Pins: r.Pins}) {
				return
			}
		}
	}
}

// FindURL implements pins.Snapshot.
func (s pinsSnapshot) FindURL(url string) (code.RepositoryID, bool) {
	known := s.catalog.loadURLIndex(s.Snapshot).findRepository(url)
	if known == nil {
		return 0, false
	}
	return known.ID, true
}
