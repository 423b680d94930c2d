package catalog

import (
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// applySubmodules replaces the submodules of a repository, unless the list was made before
// the repository was removed and registered again.
func (c *Catalog) applySubmodules(b *store.Batch, at event.Position, ev *event.SubmodulesListed) error {
	var row repositoryRow
	found, err := readRow(b, repositoryKey(ev.Repository), &row)
	if err != nil || !found || ev.Cause.Partition == row.Since.Partition && ev.Cause.Offset < row.Since.Offset {
		return err
	}
	row.Submodules = ev.Submodules
	return c.write(b, at, &row)
}

func (c *Catalog) applyPins(b *store.Batch, at event.Position, ev *event.PinsChanged) error {
	var row repositoryRow
	found, err := readRow(b, repositoryKey(ev.Repository), &row)
	if err != nil || !found {
		return err
	}
	row.Pins = ev.Commits
	return c.write(b, at, &row)
}
