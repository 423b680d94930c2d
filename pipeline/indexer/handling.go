package indexer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxAppendBytes bounds what one append brings of a batch: the embedded log writes it
// whole or not at all, and a broker takes that much in one request, or in two where
// other appends wait. Documents of a segment that the first event of a batch brings may
// be named by its last alone; a merge in between would find them dead. Changes that do
// not fit go to the segment store.
const maxAppendBytes = 800 << 10

// An indexRun indexes refs of one repository, for one record or one group.
type indexRun struct {
	x        *Indexer
	m        *mirror.Mirror
	repo     code.RepositoryID
	head     code.Ref
	job      *job
	trees    *mirror.Trees
	readings readings
	// indexed are the commits of the refs as the log has them.
	indexed map[code.Ref]code.CommitID
	// announced are the refs that this run announced, named their documents.
	announced map[code.Ref]bool
	named     namedDocuments
	partition int32
	// root names the family, empty for none; alone says that it is not looked at.
	root  code.CommitID
	alone bool
}

// indexRefs indexes refs at their commits, those whose commit is not news excepted, and
// reports which were news. Refs that come together are read together: a blob is read,
// analyzed and sealed once, whichever of them have it, and not at all if a ref that is
// indexed has it.
func (x *Indexer) indexRefs(ctx context.Context, m *mirror.Mirror, revs []revision, causeOf func(code.Ref) cause, job *job) (indexed map[code.Ref]bool, err error) {
	indexed = map[code.Ref]bool{}
	if len(revs) == 0 {
		return indexed, nil
	}
	h := &indexRun{
		x: x, m: m, repo: revs[0].repo, head: revs[0].head, job: job, readings: readingsOf(m),
		announced: map[code.Ref]bool{}, named: namedDocuments{documents: map[code.DocumentKey]bool{}},
	}
	if h.indexed, err = indexedCommits(ctx, m); err != nil {
		return indexed, err
	}
	pending := h.pendingRefs(revs, causeOf)
	if len(pending) == 0 {
		return indexed, nil
	}
	if h.trees, err = m.Trees(ctx); err != nil {
		return indexed, err
	}
	defer h.trees.Close()
	h.partition = pending[0].cause.position.Partition
	if err := h.joinFamily(ctx, revs); err != nil {
		return indexed, err
	}
	if pending, err = h.chooseBases(ctx, pending); err != nil {
		return indexed, err
	}
	for len(pending) > 0 {
		started, b := x.o.Now(), newBatch()
		for len(pending) > 0 && !b.isFull() {
			if err := h.addRef(ctx, b, pending[0]); err != nil {
				return indexed, err
			}
			job.report()
			pending = pending[1:]
		}
		err := h.indexBatch(ctx, b, started, len(pending) > 0)
		if errors.Is(err, errFamilyChanged) {
			if err = h.retryAlone(ctx, b, err); err == nil {
				pending = append(b.refs, pending...)
				continue
			}
		}
		if err != nil {
			return indexed, err
		}
		for _, ref := range b.refs {
			indexed[ref.Ref] = true
		}
	}
	return indexed, nil
}

func indexedCommits(ctx context.Context, m *mirror.Mirror) (map[code.Ref]code.CommitID, error) {
	list, err := m.IndexedRevisions(ctx)
	if err != nil {
		return nil, err
	}
	commits := make(map[code.Ref]code.CommitID, len(list))
	for _, rev := range list {
		commits[rev.Ref] = rev.Commit
	}
	return commits, nil
}

// pendingRefs returns the refs that are news.
func (h *indexRun) pendingRefs(revs []revision, causeOf func(code.Ref) cause) []*refChange {
	announcedDefault := h.m.AnnouncedDefault()
	var pending []*refChange
	for _, rev := range revs {
		c := causeOf(rev.Ref)
		if h.x.isOvertaken(rev, c) {
			continue
		}
		if !rev.refresh && h.indexed[rev.Ref] == rev.Commit && announcedDefault == rev.head {
			continue
		}
		announcedDefault = rev.head
		pending = append(pending, &refChange{revision: rev, cause: c})
	}
	return pending
}

// indexBatch brings the documents of a batch into segments and announces its refs.
func (h *indexRun) indexBatch(ctx context.Context, b *batch, started time.Time, more bool) error {
	if err := h.nameKnown(ctx, b); err != nil {
		return err
	}
	sealed, err := h.sealBatch(ctx, b)
	if err != nil {
		return fmt.Errorf("index %d refs, from %s at %s: %w", len(b.refs), b.refs[0].Ref, b.refs[0].Commit, err)
	}
	events := make([]*event.RevisionIndexed, len(b.refs))
	for i, ref := range b.refs {
		commit, err := h.trees.Commit(ctx, ref.Commit)
		if err != nil {
			return err
		}
		events[i] = &event.RevisionIndexed{
			Repository: h.repo, Ref: ref.Ref, Commit: ref.Commit, CommitTime: commit.Time,
			BaseRef: ref.base.Ref, BaseCommit: ref.base.Commit, Segments: ref.segments, Changes: ref.changes,
		}
	}
	if err := h.announceBatch(ctx, b, events); err != nil {
		return err
	}
	if err := h.readings.add(b.readings); err != nil {
		h.x.o.Logger.Warn("cannot save the cache of blob readings; the blobs of this batch are read again next time", "repository_id", h.repo, "error", err)
	}
	if more {
		h.named.add(b, sealed)
	}
	took := h.x.o.Now().Sub(started)
	for _, ref := range b.refs {
		h.announced[ref.Ref], h.indexed[ref.Ref] = true, ref.Commit
		h.x.metrics.observeRevision(len(ref.changes), took)
		h.x.o.Logger.Info("revision indexed", "delivery_id", ref.cause.delivery, "repository", nameOf(h.m), "repository_id", h.repo,
			"ref", string(ref.Ref), "commit", string(ref.Commit), "position", ref.cause.position.String(),
			"changes", len(ref.changes), "documents", ref.documents, "segments", len(ref.segments), "duration", took)
	}
	return nil
}

// announceBatch appends the events of a batch and, once the log has them, moves the
// indexed state on.
func (h *indexRun) announceBatch(ctx context.Context, b *batch, events []*event.RevisionIndexed) error {
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
	if err != nil { // the log may have what the mirror does not know
		for _, ref := range b.refs {
			h.x.partitions.markStale(ref.cause.position.Partition, h.repo, ref.cause.position.Offset)
		}
	}
	return err
}

// encodeBatch returns the records of a batch. If the batch exceeds the limit of one
// append, the largest lists of changes are put to the segment store.
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

// fillAnnouncement fills in what every announcement of a ref has.
func (x *Indexer) fillAnnouncement(ev *event.RevisionIndexed, rev revision, c cause) {
	ev.DefaultBranch = rev.head.Short()
	ev.Cause, ev.PushedAt, ev.IndexedAt = c.position, c.receivedAt, x.o.Now()
}

// eventID derives the ID of an announcement, so that its repetition is recognized.
func eventID(ev *event.RevisionIndexed) string {
	return event.DerivedID(ev.Cause, "indexed/"+string(ev.Ref))
}

// encode returns the record of an event, with its changes in the segment store where
// they are too many for it, or it would be larger than most bytes.
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
		return event.Record{}, fmt.Errorf("store changes: %w", err)
	}
	ev.Changes, ev.ChangesObject = nil, name
	return event.Encode(env, ev)
}
