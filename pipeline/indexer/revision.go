package indexer

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
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

// gone takes a ref back that was indexed; it reports whether it was.
func (x *Indexer) gone(ctx context.Context, m *mirror.Mirror, rev revision, c cause) (told bool, err error) {
	if x.overtaken(rev, c) {
		return false, nil
	}
	indexed, err := m.Indexed(ctx)
	if err != nil {
		return false, err
	}
	for _, was := range indexed {
		if was.Ref == rev.Ref {
			ev := &event.RevisionIndexed{Repository: rev.repo, Ref: rev.Ref, BaseRef: was.Ref, BaseCommit: was.Commit}
			return true, x.announce(ctx, m, ev, rev, c)
		}
	}
	// The mirror may have forgotten it.
	commits, err := x.lastTold(ctx, rev.repo, c.at)
	if err != nil || commits[rev.Ref] == "" {
		return false, err
	}
	ev := &event.RevisionIndexed{Repository: rev.repo, Ref: rev.Ref, BaseRef: rev.Ref, BaseCommit: commits[rev.Ref]}
	return true, x.announce(ctx, m, ev, rev, c)
}

// announce appends a RevisionIndexed and, once the log has it, moves the indexed
// state on.
func (x *Indexer) announce(ctx context.Context, m *mirror.Mirror, ev *event.RevisionIndexed, rev revision, c cause) error {
	x.complete(ev, rev, c)
	rec, err := x.encode(ctx, ev, eventID(ev), maxAppendBytes)
	if err != nil {
		return err
	}
	if _, err = x.o.Log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec); err != nil {
		err = fmt.Errorf("announce %s at %s: %w", ev.Ref, ev.Commit, err)
	} else {
		err = errors.Join(m.ClearUnannounced(), m.SetIndexed(ctx, ev.Ref, ev.Commit, rev.head))
	}
	if err != nil {
		x.partitions.doubt(c.at.Partition, rev.repo, c.at.Offset) // the log may have what the mirror does not know
	}
	return err
}
