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

// overtaken reports whether the log tells of a ref by a later cause already.
func (x *Indexer) overtaken(rev revision, c cause) bool {
	return x.partitions.cause(refKey{rev.repo, rev.Ref}, c.at.Partition) > c.at.Offset
}
