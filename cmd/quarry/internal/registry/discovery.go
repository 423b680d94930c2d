package registry

import (
	"context"
	"errors"
	"iter"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/schemas/code"
)

// ForDiscovery adapts the catalog to discovery.Catalog.
func (r *Catalog) ForDiscovery() discovery.Catalog { return discoveryCatalog{r} }

// discoveryCatalog waits for the log before it returns a snapshot.
type discoveryCatalog struct{ *Catalog }

var _ discovery.Catalog = discoveryCatalog{}

// errShowsPast is the reason why nothing is discovered while the projections show the
// past.
var errShowsPast = errors.New("the projections show a moment of the past")

// Current implements discovery.Catalog.
func (d discoveryCatalog) Current(ctx context.Context) (discovery.Snapshot, error) {
	live := d.versions.Live()
	if live.Meta.IsFrozen() {
		return nil, errShowsPast
	}
	if err := d.versions.WaitForLog(ctx, live); err != nil {
		return nil, err
	}
	snapshot := live.Catalog.Snapshot()
	return catalogSnapshot{snapshot, d.loadURLIndex(snapshot)}, nil
}

// catalogSnapshot adapts a snapshot of the catalog for discovery.
type catalogSnapshot struct {
	*catalog.Snapshot
	byURL *urlIndex
}

// ByID implements discovery.Snapshot.
func (c catalogSnapshot) ByID(id code.RepositoryID) (code.Repository, bool) {
	known, ok := c.Snapshot.ByID(id)
	if !ok {
		return code.Repository{}, false
	}
	return known.Repository, true
}

// ByCloneURL implements discovery.Snapshot.
func (c catalogSnapshot) ByCloneURL(url string) (code.Repository, bool) {
	known := c.byURL.findRepository(url)
	if known == nil {
		return code.Repository{}, false
	}
	return known.Repository, true
}

// All implements discovery.Snapshot.
func (c catalogSnapshot) All() iter.Seq[code.Repository] {
	return func(yield func(code.Repository) bool) {
		for _, known := range c.ByName() {
			if !yield(known.Repository) {
				return
			}
		}
	}
}
