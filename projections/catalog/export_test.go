package catalog

import (
	"fmt"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Refs returns the refs of a repository, in the order of their names, or code.ErrNotFound
// if the repository is not registered. It reads the store, and may be a few records ahead
// of a Snapshot.
func (c *Catalog) Refs(id code.RepositoryID) ([]Ref, error) {
	if _, ok := c.Snapshot().ByID(id); !ok {
		return nil, fmt.Errorf("catalog: repository %s: %w", id, code.ErrNotFound)
	}
	var refs []Ref
	err := eachRef(c.store, id, func(ref code.Ref, row *refRow) error {
		if row.Commit != "" {
			refs = append(refs, Ref{Ref: ref, Commit: row.Commit, CommitTime: row.CommitTime, IndexedAt: row.IndexedAt, ReceivedAt: row.ReceivedAt})
		}
		return nil
	})
	return refs, err
}
