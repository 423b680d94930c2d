package catalog

import (
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// applySubmodules replaces the submodules of a repository, unless the list was made before
// the repository was removed and registered again.
func (c *Catalog) applySubmodules(b *store.Batch, at event.Position, ev *event.SubmodulesListed) error {
	return c.updateRow(b, at, ev.Repository, func(row *repositoryRow) bool {
		if ev.Cause.Partition == row.Since.Partition && ev.Cause.Offset < row.Since.Offset {
			return false
		}
		row.Submodules = ev.Submodules
		return true
	})
}

// applyPins replaces the pins of a repository. They may have been chosen before the
// repository was removed and registered again; the next PinsChanged replaces them.
func (c *Catalog) applyPins(b *store.Batch, at event.Position, ev *event.PinsChanged) error {
	return c.updateRow(b, at, ev.Repository, func(row *repositoryRow) bool {
		row.Pins = ev.Commits
		return true
	})
}
