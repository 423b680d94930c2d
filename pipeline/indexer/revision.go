package indexer

import (
	"github.com/quarrysearch/quarry/schemas/code"
)

// revision is a ref to index, at a commit, in a repository whose default branch
// is head.
type revision struct {
	repo code.RepositoryID
	code.Revision
	head code.Ref
	// refresh says that a reader lacks the commit that was indexed last: it is not the
	// base, and the ref is news though nothing has changed.
	refresh bool
}

// isOvertaken reports whether the log has an announcement of the ref with a later cause.
func (x *Indexer) isOvertaken(rev revision, c cause) bool {
	return x.partitions.lastCause(refKey{rev.repo, rev.Ref}, c.position.Partition) > c.position.Offset
}
