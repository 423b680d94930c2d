package indexer

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// refRemoval is a ref that the repository no longer has, and its announced commit.
type refRemoval struct {
	ref   code.Ref
	was   code.CommitID
	cause cause
}

// removeRefs announces the deletion of those refs that the log contains, and reports
// which these were.
func (x *Indexer) removeRefs(ctx context.Context, m *mirror.Mirror, repo code.RepositoryID, head code.Ref, refs []code.Ref, causeOf func(code.Ref) cause) (announced map[code.Ref]bool, err error) {
	announced = map[code.Ref]bool{}
	var removals []refRemoval
	for _, ref := range refs {
		if c := causeOf(ref); !x.isOvertaken(revision{repo: repo, Revision: code.Revision{Ref: ref}}, c) {
			removals = append(removals, refRemoval{ref: ref, cause: c})
		}
	}
	if len(removals) == 0 {
		return announced, nil
	}
	known, err := indexedCommits(ctx, m)
	if err != nil {
		return announced, err
	}
	var fromLog map[code.Ref]code.CommitID
	n := 0
	for _, r := range removals {
		if r.was = known[r.ref]; r.was == "" {
			// The mirror may have lost it.
			if fromLog == nil {
				if fromLog, err = x.lastAnnounced(ctx, repo, r.cause.position); err != nil {
					return announced, err
				}
			}
			r.was = fromLog[r.ref]
		}
		if r.was != "" {
			removals[n], announced[r.ref] = r, true
			n++
		}
	}
	return announced, x.announceRemovals(ctx, m, repo, head, removals[:n])
}

// announceRemovals announces the deletion of refs in as few appends as the limit allows,
// and updates the indexed state after each.
func (x *Indexer) announceRemovals(ctx context.Context, m *mirror.Mirror, repo code.RepositoryID, head code.Ref, removals []refRemoval) error {
	var records []event.Record
	size, first := 0, 0
	root, err := x.familyOf(repo)
	if err != nil {
		return err
	}
	flush := func(end int) error {
		if len(records) == 0 {
			return nil
		}
		done, err := x.beginAnnouncement(ctx, root, repo)
		if err != nil {
			return err
		}
		defer done()
		_, err = x.o.Log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, records...)
		if err != nil {
			err = fmt.Errorf("announce that %d refs are gone, from %s: %w", len(records), removals[first].ref, err)
		} else {
			refs := make([]code.Ref, 0, end-first)
			for _, r := range removals[first:end] {
				refs = append(refs, r.ref)
			}
			err = m.RemoveIndexed(ctx, refs, head)
		}
		if err != nil { // the log may be ahead of the mirror
			for _, r := range removals[first:end] {
				x.partitions.markStale(r.cause.position.Partition, repo, r.cause.position.Offset)
			}
		}
		records, size, first = nil, 0, end
		return err
	}
	for i, r := range removals {
		ev := &event.RevisionIndexed{Repository: repo, Ref: r.ref, BaseRef: r.ref, BaseCommit: r.was}
		x.fillAnnouncement(ev, revision{head: head}, r.cause)
		rec, err := event.Encode(event.Envelope{ID: eventID(ev), Source: source, Time: ev.IndexedAt}, ev)
		if err != nil {
			return err
		}
		if size+rec.SizeBytes() > maxAppendBytes {
			if err := flush(i); err != nil {
				return err
			}
		}
		records, size = append(records, rec), size+rec.SizeBytes()
	}
	return flush(len(removals))
}
