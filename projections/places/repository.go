package places

import (
	"errors"
	"time"

	"github.com/quarrysearch/quarry/projections/internal/accept"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
)

// registerRepository registers a repository, or updates a registered one. An event that
// only changes a repository has no effect if it is not registered.
func (c *change) registerRepository(next code.Repository, bringsIn bool) error {
	k := repositoryPrefix(kindRepository, next.ID)
	row := repositoryRow{Since: c.at}
	found, err := readRow(c.b, k, &row)
	if err != nil {
		return err
	}
	if !found && !bringsIn || found && accept.Collides(row.Repository, next) {
		return nil // the catalog counts and reports it
	}
	before, err := c.levelsOf(next.ID, row.Repository.DefaultBranch)
	if err != nil {
		return err
	}
	row.Repository = accept.Merge(row.Repository, next)
	after, err := c.levelsOf(next.ID, row.Repository.DefaultBranch)
	if err != nil {
		return err
	}
	if err := c.replacePlaces(next.ID, before, after); err != nil {
		return err
	}
	c.stage.setRepository(c.part, &row)
	return firstError(writeRow(c.b, k, &row), c.b.Delete(repositoryPrefix(kindRemoved, next.ID)), c.flush())
}

// removeRepository removes a repository and everything that belongs to it.
func (c *change) removeRepository(id code.RepositoryID, at time.Time) error {
	c.removedAt, c.wholeRepository = at, true
	var row repositoryRow
	found, err := readRow(c.b, repositoryPrefix(kindRepository, id), &row)
	if err != nil || !found {
		return err
	}
	shown, err := c.levelsOf(id, row.Repository.DefaultBranch)
	if err != nil {
		return err
	}
	if err := firstError(c.replacePlaces(id, shown, nil), c.subtractCounts(id)); err != nil {
		return err
	}
	err = forEachRow(c.b, repositoryPrefix(kindBroken, id), func(_, _ []byte) error { c.stage.brokenRefs--; return nil })
	if err != nil {
		return err
	}
	for _, kind := range []byte{kindRef, kindManifest, kindPin, kindEntry, kindKept, kindBroken} {
		lo := repositoryPrefix(kind, id)
		if err := c.b.DeleteRange(lo, store.Successor(lo)); err != nil {
			return err
		}
	}
	c.stage.removeRepository(id)
	tombstone := &code.Repository{ID: id, Private: row.Repository.Private}
	c.stage.tombstone = tombstone
	if err := writeRow(c.b, repositoryPrefix(kindRemoved, id), tombstone); err != nil {
		return err
	}
	// If it is registered again, its manifests are numbered from 1 again.
	c.stage.moved = true
	return firstError(c.b.Delete(repositoryPrefix(kindRepository, id)), c.flush())
}

// subtractCounts subtracts the entries of a repository from the counts.
func (c *change) subtractCounts(id code.RepositoryID) error {
	prefix := repositoryPrefix(kindEntry, id)
	it, err := c.b.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err := c.adjustCount(it.Value(), -1); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}
