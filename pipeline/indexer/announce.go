package indexer

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// maxAppendBytes bounds the events of a batch in one append: the embedded log writes an
// append completely or not at all, and a broker accepts that much in one request, or in
// two while other appends wait. Only the last event of a batch may name documents of a
// segment that its first event adds; a merge between the two would consider them dead.
// Changes that do not fit go to the segment store.
const maxAppendBytes = 800 << 10

// newAnnouncements returns an event for each ref of a batch whose documents are sealed.
func (h *indexRun) newAnnouncements(ctx context.Context, b *batch) ([]*event.RevisionIndexed, error) {
	events := make([]*event.RevisionIndexed, len(b.refs))
	for i, ref := range b.refs {
		commit, err := h.trees.Commit(ctx, ref.Commit)
		if err != nil {
			return nil, err
		}
		events[i] = &event.RevisionIndexed{
			Repository: h.repo, Ref: ref.Ref, Commit: ref.Commit, CommitTime: commit.Time,
			BaseRef: ref.base.Ref, BaseCommit: ref.base.Commit, Segments: ref.segments, Changes: ref.changes,
		}
	}
	return events, nil
}

// announceBatch appends the events of a batch and then updates the indexed state of the
// mirror.
func (h *indexRun) announceBatch(ctx context.Context, b *batch, events []*event.RevisionIndexed) (err error) {
	ctx, span := tracing.Start(ctx, "announce")
	defer func() { span.End(err) }()
	records, err := h.encodeBatch(ctx, b, events)
	if err != nil {
		return err
	}
	done, err := h.x.beginAnnouncement(ctx, h.root, h.repo)
	if err != nil {
		return err
	}
	defer done()
	if err := h.confirmRelatives(ctx, b); err != nil {
		return err
	}
	if _, err = h.x.o.Log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, records...); err != nil {
		err = fmt.Errorf("announce %d refs, from %s at %s: %w", len(b.refs), b.refs[0].Ref, b.refs[0].Commit, err)
	} else {
		err = h.m.ClearUnannounced()
	}
	for _, ref := range b.refs {
		if err != nil {
			break
		}
		err = h.m.SetIndexed(ctx, ref.Ref, ref.Commit, ref.head)
	}
	if err != nil { // the log may be ahead of the mirror
		for _, ref := range b.refs {
			h.x.partitions.markStale(ref.cause.position.Partition, h.repo, ref.cause.position.Offset)
		}
	}
	return err
}

// encodeBatch returns the records of a batch. If the batch exceeds the limit of one
// append, the largest lists of changes are stored in the segment store.
func (h *indexRun) encodeBatch(ctx context.Context, b *batch, events []*event.RevisionIndexed) ([]event.Record, error) {
	records := make([]event.Record, len(events))
	share := maxAppendBytes / len(events)
	total := 0
	for i, ev := range events {
		var err error
		h.x.fillAnnouncement(ev, b.refs[i].revision, b.refs[i].cause)
		if records[i], err = h.x.encode(ctx, ev, eventID(ev), maxAppendBytes); err != nil {
			return nil, err
		}
		total += records[i].SizeBytes()
	}
	for i := range records {
		if total <= maxAppendBytes {
			break
		}
		size := records[i].SizeBytes()
		if size <= share {
			continue
		}
		rec, err := h.x.encode(ctx, events[i], eventID(events[i]), 0)
		if err != nil {
			return nil, err
		}
		records[i], total = rec, total-size+rec.SizeBytes()
	}
	return records, nil
}

// fillAnnouncement sets the fields that all announcements of a ref share.
func (x *Indexer) fillAnnouncement(ev *event.RevisionIndexed, rev revision, c cause) {
	ev.DefaultBranch = rev.head.Short()
	ev.Cause, ev.PushedAt, ev.IndexedAt = c.position, c.receivedAt, x.o.Now()
}

// eventID derives the ID of an announcement, so that readers recognize its repetition.
func eventID(ev *event.RevisionIndexed) string {
	return event.DerivedID(ev.Cause, "indexed/"+string(ev.Ref))
}

// encode returns the record of an event. It stores the changes in the segment store if
// they are too many for the event, or if the record would exceed most bytes.
func (x *Indexer) encode(ctx context.Context, ev *event.RevisionIndexed, id string, most int) (event.Record, error) {
	env := event.Envelope{ID: id, Source: source, Time: ev.IndexedAt}
	if len(ev.Changes) <= event.MaxInlineChanges {
		rec, err := event.Encode(env, ev)
		if err == nil && (rec.SizeBytes() <= most || len(ev.Changes) == 0) || err != nil && !errors.Is(err, event.ErrTooLarge) {
			return rec, err
		}
	}
	name, object, err := segmentstore.EncodeChanges(ev.Changes)
	if err != nil {
		return event.Record{}, err
	}
	if err := x.o.Segments.PutBytes(ctx, name, object); err != nil {
		return event.Record{}, fmt.Errorf("%w: store changes: %w", worker.ErrUnavailable, err)
	}
	ev.Changes, ev.ChangesObject = nil, name
	return event.Encode(env, ev)
}
