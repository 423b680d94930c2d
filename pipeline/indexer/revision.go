package indexer

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/segmentstore"
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

// ref indexes a ref at its commit, unless that was done; it reports whether it was
// news.
func (x *Indexer) ref(ctx context.Context, m *mirror.Mirror, rev revision, c cause, job *job) (told bool, err error) {
	if x.overtaken(rev, c) {
		return false, nil
	}
	done, err := m.IndexedCommit(ctx, rev.Ref)
	if err != nil && !errors.Is(err, mirror.ErrMissing) {
		return false, err
	}
	if rev.refresh {
		done = ""
	} else if done == rev.Commit && m.AnnouncedDefault() == rev.head {
		return false, nil
	}
	return true, x.index(ctx, m, rev, done, c, job)
}

// index says how a ref differs from the commit that was indexed last, which may be
// none.
func (x *Indexer) index(ctx context.Context, m *mirror.Mirror, rev revision, done code.CommitID, c cause, job *job) error {
	base, err := x.base(ctx, m, rev, done)
	if err != nil {
		return err
	}
	started := x.o.Now()
	set, err := x.changes(ctx, m, base.Commit, rev.Commit)
	if errors.Is(err, mirror.ErrMissing) && base.Commit != "" {
		// The base was pruned from the mirror: say everything again.
		base = code.Revision{}
		set, err = x.changes(ctx, m, "", rev.Commit)
	}
	if err != nil {
		return err
	}
	job.plan(len(set.items), set.bytes)
	segments, err := x.segments(ctx, m, rev.repo, set, c, job)
	if err != nil {
		return fmt.Errorf("index %s at %s: %w", rev.Ref, rev.Commit, err)
	}
	commit, err := m.Commit(ctx, rev.Commit)
	if err != nil {
		return err
	}
	ev := &event.RevisionIndexed{
		Repository: rev.repo, Ref: rev.Ref, Commit: rev.Commit, CommitTime: commit.Time,
		BaseRef: base.Ref, BaseCommit: base.Commit, Segments: segments, Changes: set.changes,
	}
	if err := x.announce(ctx, m, ev, rev, c); err != nil {
		return err
	}
	took := x.o.Now().Sub(started)
	x.metrics.revision(set, took)
	x.o.Logger.Info("revision indexed", "delivery_id", c.delivery, "repository", nameOf(m), "repository_id", rev.repo,
		"ref", string(rev.Ref), "commit", string(rev.Commit), "position", c.at.String(),
		"changes", len(set.changes), "documents", len(set.items), "segments", len(segments), "duration", took)
	return nil
}

// overtaken reports whether the log tells of a ref by a later cause already.
func (x *Indexer) overtaken(rev revision, c cause) bool {
	return x.partitions.cause(refKey{rev.repo, rev.Ref}, c.at.Partition) > c.at.Offset
}

// base returns the revision that the changes are relative to.
func (x *Indexer) base(ctx context.Context, m *mirror.Mirror, rev revision, done code.CommitID) (code.Revision, error) {
	if done != "" {
		return code.Revision{Ref: rev.Ref, Commit: done}, nil
	}
	// The default branch that was announced, which may be another than rev.head:
	// then it was renamed, and the new one has most of its files.
	from := m.AnnouncedDefault()
	if rev.Ref == from || from == "" {
		return code.Revision{}, nil
	}
	commit, err := m.IndexedCommit(ctx, from)
	if errors.Is(err, mirror.ErrMissing) || commit == "" {
		return code.Revision{}, nil
	}
	return code.Revision{Ref: from, Commit: commit}, err
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
	ev.DefaultBranch = rev.head.Short()
	ev.Cause, ev.PushedAt, ev.IndexedAt = c.at, c.was, x.o.Now()
	rec, err := x.encode(ctx, ev, event.DerivedID(c.at, "indexed/"+string(ev.Ref)))
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

// encode returns the record of an event, with its changes in the segment store
// where they are too many for it.
func (x *Indexer) encode(ctx context.Context, ev *event.RevisionIndexed, id string) (event.Record, error) {
	env := event.Envelope{ID: id, Source: source, Time: ev.IndexedAt}
	if len(ev.Changes) <= event.MaxInlineChanges {
		rec, err := event.Encode(env, ev)
		if !errors.Is(err, event.ErrTooLarge) {
			return rec, err
		}
	}
	name, object, err := segmentstore.EncodeChanges(ev.Changes)
	if err != nil {
		return event.Record{}, err
	}
	if err := x.o.Segments.PutBytes(ctx, name, object); err != nil {
		return event.Record{}, fmt.Errorf("store changes: %w", err)
	}
	ev.Changes, ev.ChangesObject = nil, name
	return event.Encode(env, ev)
}
