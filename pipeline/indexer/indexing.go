package indexer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// revision is a ref to index at a commit, in a repository whose default branch is head.
type revision struct {
	repo code.RepositoryID
	code.Revision
	head code.Ref
	// refresh means that a reader lacks the last indexed commit: it cannot be the base,
	// and the ref is indexed even if it is unchanged.
	refresh bool
}

// isOvertaken reports whether the log contains an announcement of the ref with a later
// cause.
func (x *Indexer) isOvertaken(rev revision, c cause) bool {
	return x.partitions.lastCause(refKey{rev.repo, rev.Ref}, c.position.Partition) > c.position.Offset
}

// indexRun indexes refs of one repository for one record or one group.
type indexRun struct {
	x        *Indexer
	m        *mirror.Mirror
	repo     code.RepositoryID
	head     code.Ref
	job      *job
	trees    *mirror.Trees
	readings readings
	// indexed are the announced commits of the refs.
	indexed map[code.Ref]code.CommitID
	// announced are the refs that this run announced, named the documents that they
	// contain.
	announced map[code.Ref]bool
	named     namedDocuments
	partition int32
	// parsed and checkedTrees cache attributes, and unclassified are the refs that were
	// announced without them.
	parsed       parsedAttributes
	checkedTrees map[mirror.ObjectID]bool
	unclassified map[code.Ref]bool
	// root identifies the family, if any; alone means that the family is not searched.
	root  code.CommitID
	alone bool
}

// indexRefs indexes refs at their commits, except those already indexed there, and
// reports which it announced. Refs are read together: a blob is read, analyzed and sealed
// once for all of them, and not at all if an indexed ref contains it.
//
//	pendingRefs      refs to index                           indexing.go
//	joinFamily       relatives that may have the documents   family.go
//	chooseBases      the base of each ref                    bases.go
//	indexNextBatch   as many refs as fit into a batch        indexing.go
func (x *Indexer) indexRefs(ctx context.Context, m *mirror.Mirror, revs []revision, causeOf func(code.Ref) cause, job *job) (indexed map[code.Ref]bool, err error) {
	indexed = map[code.Ref]bool{}
	if len(revs) == 0 {
		return indexed, nil
	}
	h := &indexRun{
		x: x, m: m, repo: revs[0].repo, head: revs[0].head, job: job, readings: readingsOf(m),
		announced: map[code.Ref]bool{}, named: namedDocuments{documents: map[code.DocumentKey]bool{}},
		parsed: parsedAttributes{}, checkedTrees: map[mirror.ObjectID]bool{},
	}
	if h.indexed, err = indexedCommits(ctx, m); err != nil {
		return indexed, err
	}
	if err := h.loadUnclassified(); err != nil {
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
	if pending, err = h.dropClassified(ctx, pending); err != nil || len(pending) == 0 {
		return indexed, err
	}
	h.partition = pending[0].cause.position.Partition
	if err := h.joinFamily(ctx, revs); err != nil {
		return indexed, err
	}
	done, err := h.beginFirstImport(ctx)
	if err != nil {
		return indexed, err
	}
	defer done()
	if pending, err = h.chooseBases(ctx, pending); err != nil {
		return indexed, err
	}
	for len(pending) > 0 {
		if pending, err = h.indexNextBatch(ctx, pending, indexed); err != nil {
			return indexed, err
		}
	}
	return indexed, nil
}

func indexedCommits(ctx context.Context, m *mirror.Mirror) (map[code.Ref]code.CommitID, error) {
	list, err := m.IndexedRevisions(ctx)
	return mapCommits(list), err
}

// mapCommits returns the commit of each ref.
func mapCommits(list []code.Revision) map[code.Ref]code.CommitID {
	commits := make(map[code.Ref]code.CommitID, len(list))
	for _, rev := range list {
		commits[rev.Ref] = rev.Commit
	}
	return commits
}

// pendingRefs returns the refs that must be indexed.
func (h *indexRun) pendingRefs(revs []revision, causeOf func(code.Ref) cause) []*refChange {
	announcedDefault := h.m.AnnouncedDefault()
	var pending []*refChange
	for _, rev := range revs {
		c := causeOf(rev.Ref)
		if h.x.isOvertaken(rev, c) {
			continue
		}
		unchanged := !rev.refresh && h.indexed[rev.Ref] == rev.Commit && announcedDefault == rev.head
		if unchanged && !h.unclassified[rev.Ref] {
			continue
		}
		announcedDefault = rev.head
		pending = append(pending, &refChange{revision: rev, cause: c, unchanged: unchanged})
	}
	return pending
}

// indexNextBatch indexes the first refs of pending that fit into a batch, records them in
// indexed and returns the rest. If a relative changed in the meantime, it indexes none,
// and the next call does not use relatives.
func (h *indexRun) indexNextBatch(ctx context.Context, pending []*refChange, indexed map[code.Ref]bool) ([]*refChange, error) {
	started, b := h.x.o.Now(), newBatch()
	listing, span := tracing.Start(ctx, "list changes")
	for len(pending) > 0 && !b.isFull() {
		if err := h.addRef(listing, b, pending[0]); err != nil {
			span.End(err)
			return nil, err
		}
		h.job.report()
		pending = pending[1:]
	}
	span.End(nil)
	err := h.indexBatch(ctx, b, started, len(pending) > 0)
	if errors.Is(err, errFamilyChanged) {
		if err = h.retryAlone(ctx, b, err); err == nil {
			return append(b.refs, pending...), nil
		}
	}
	if err != nil {
		return nil, err
	}
	for _, ref := range b.refs {
		indexed[ref.Ref] = true
	}
	return pending, nil
}

// indexBatch seals the documents of a batch in segments and announces its refs. more
// means that another batch of the run follows.
//
//	nameKnown           documents that live segments hold    known.go
//	sealBatch           read and seal the rest               units.go
//	newAnnouncements    an event for each ref                announce.go
//	announceBatch       log, then mirror                     announce.go
func (h *indexRun) indexBatch(ctx context.Context, b *batch, started time.Time, more bool) error {
	if err := h.nameKnown(ctx, b); err != nil {
		return err
	}
	sealing, span := tracing.Start(ctx, "analyze")
	sealed, err := h.sealBatch(sealing, b)
	span.SetInt("quarry.documents", int64(len(sealed)))
	if span.End(err); err != nil {
		return fmt.Errorf("index %d refs, from %s at %s: %w", len(b.refs), b.refs[0].Ref, b.refs[0].Commit, err)
	}
	events, err := h.newAnnouncements(ctx, b)
	if err != nil {
		return err
	}
	if err := h.announceBatch(ctx, b, events); err != nil {
		return err
	}
	for _, ref := range b.refs {
		if err := h.noteClassified(ref.Ref); err != nil {
			h.x.o.Logger.Warn("cannot store which refs are classified; they are announced again in full", "repository_id", h.repo, "error", err)
		}
	}
	if err := h.readings.add(b.readings); err != nil {
		h.x.o.Logger.Warn("cannot save the cache of analyzed blobs; the blobs of this batch are read again next time", "repository_id", h.repo, "error", err)
	}
	if more {
		h.named.add(b, sealed)
	}
	h.noteAnnounced(b, h.x.o.Now().Sub(started))
	return nil
}

// noteAnnounced records and logs the announcement of a batch.
func (h *indexRun) noteAnnounced(b *batch, took time.Duration) {
	for _, ref := range b.refs {
		h.announced[ref.Ref], h.indexed[ref.Ref] = true, ref.Commit
		h.x.metrics.observeRevision(len(ref.changes), took)
		h.x.o.Logger.Info("revision indexed", "delivery_id", ref.cause.delivery, "repository", nameOf(h.m), "repository_id", h.repo,
			"ref", string(ref.Ref), "commit", string(ref.Commit), "position", ref.cause.position.String(),
			"changes", len(ref.changes), "documents", ref.documents, "segments", len(ref.segments), "duration", took)
	}
}
