package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// statuses says how far the indexing of a repository is. It implements
// api.Status.
type statusReader struct {
	log      eventlog.Log
	versions *versions
	// working is nil in a process without the pipeline role: then nothing is known
	// of imports that run elsewhere.
	pipelineStatus func(id code.RepositoryID) (pipelineWork, bool)
}

var _ api.Status = (*statusReader)(nil)

// work is what the pipeline of this process knows of a repository.
type pipelineWork struct {
	progress *api.Progress // nil if nothing runs
	// failed is how the last attempt failed; nil if it did not.
	lastFailure *api.Failure
	// selection is which refs are indexed; nil if no fetch of all refs is known.
	selection *wire.RefSelection
	// look is nil where another process looks for lost pushes, or none does.
	reconciliation *api.Reconciliation
}

// Status implements api.Status.
func (s *statusReader) Status(ctx context.Context, id code.RepositoryID) (api.RepositoryStatus, error) {
	i := s.versions.acquireLive()
	defer i.refCount.release()
	known, ok := i.catalog.Snapshot().ByID(id)
	if !ok {
		return api.RepositoryStatus{}, fmt.Errorf("status: %w", code.ErrNotFound)
	}
	// The position first, the view after it: what the position promises, the view
	// shows.
	out := api.RepositoryStatus{Repository: *searchRepository(known), State: api.StateRegistered}
	at, err := s.appliedPosition(ctx, i, id)
	if err != nil {
		return out, err
	}
	if at.Offset > 0 {
		out.Applied = &event.Position{Topic: at.Topic, Partition: at.Partition, Offset: at.Offset - 1}
	}
	if err := s.countWaitingPushes(ctx, id, at, &out.Freshness); err != nil {
		return out, err
	}
	v := i.places.Acquire()
	defer v.Release()
	s.describeIndex(v, &out)
	s.addWork(&out)
	return out, nil
}

// appliedPosition returns where the events of the repository's partition begin that have not
// had their effect.
func (s *statusReader) appliedPosition(ctx context.Context, i *index, id code.RepositoryID) (event.Position, error) {
	n, err := s.log.Partitions(ctx, event.TopicEvents)
	if err != nil {
		return event.Position{}, err
	}
	partition := eventlog.PartitionOf(event.RecordKey(id), n)
	before, err := i.applied.appliedOffset(ctx, partition)
	return event.Position{Topic: event.TopicEvents, Partition: partition, Offset: before}, err
}

// maxWaitingLook bounds the records that are looked at for pushes that wait: some
// tens of milliseconds.
const maxWaitingRecords = 10_000

// countWaitingPushes counts the pushes of a repository from a position on, which have not had
// their effect.
func (s *statusReader) countWaitingPushes(ctx context.Context, id code.RepositoryID, from event.Position, out *api.Freshness) (err error) {
	high, err := s.log.HighWater(ctx, event.TopicEvents)
	if err != nil || int(from.Partition) >= len(high) || from.Offset >= high[from.Partition] {
		return err
	}
	end := high[from.Partition]
	if out.More = end-from.Offset > maxWaitingRecords; out.More {
		end = from.Offset + maxWaitingRecords
	}
	reader, err := s.log.Tail(ctx, event.TopicEvents, from.Partition, from.Offset)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	key := event.RecordKey(id)
	for next := from.Offset; next < end; {
		rec, err := reader.Next(ctx)
		if err != nil {
			return err
		}
		if next = rec.Position.Offset + 1; next > end || !bytes.Equal(rec.Key, key) || event.TypeOf(rec) != event.TypePush {
			continue
		}
		if _, ev, err := event.Decode(rec); err == nil {
			p := ev.(*event.Push)
			if out.Waiting++; out.OldestAt.IsZero() || p.ReceivedAt.Before(out.OldestAt) {
				out.OldestAt = p.ReceivedAt
			}
		}
	}
	return nil
}

// describeIndex fills in what the view shows of the repository.
func (s *statusReader) describeIndex(v *places.View, out *api.RepositoryStatus) {
	r := v.Repository(out.Repository.ID)
	if r == nil {
		return
	}
	for _, ref := range r.Refs {
		if f := &out.Freshness; ref.IndexedAt.After(f.IndexedAt) {
			f.Ref, f.Commit, f.ReceivedAt, f.IndexedAt = ref.Ref, ref.Commit, ref.PushedAt, ref.IndexedAt
		}
		out.Refs = append(out.Refs, api.RefStatus{Ref: ref.Ref, Commit: ref.Commit, IndexedAt: ref.IndexedAt})
	}
	if len(r.Refs) > 0 {
		out.State = api.StateIndexed
	}
	if r.Default == nil {
		return
	}
	out.Repository.IndexedCommit = r.Default.Commit
	out.Files = r.Default.Files
	for _, n := range r.Default.Skipped {
		out.SkippedFiles += n
	}
	out.Segments = countSegments(v, r)
}

// countSegments counts the segments that hold documents of a repository's default
// branch.
func countSegments(v *places.View, r *places.Repository) int {
	index := slices.Index(v.Repositories(), r)
	if index < 0 {
		return 0
	}
	n := 0
	for _, s := range v.Segments() {
		if slices.Contains(s.Places.Repo, uint32(index)) {
			n++
		}
	}
	return n
}

func (s *statusReader) addWork(out *api.RepositoryStatus) {
	if s.pipelineStatus == nil {
		return
	}
	w, ok := s.pipelineStatus(out.Repository.ID)
	if !ok {
		return
	}
	out.Progress, out.LastError, out.Reconciliation, out.Selection = w.progress, w.lastFailure, w.reconciliation, w.selection
	if out.State == api.StateIndexed {
		return
	}
	switch {
	case w.progress != nil:
		out.State = api.StateImporting
	case w.lastFailure != nil:
		out.State = api.StateFailed
	}
}

// skippedPage is how many skipped files are read at once.
const skippedPage = 1000

// Skipped implements api.Status.
func (s *statusReader) Skipped(ctx context.Context, id code.RepositoryID, ref code.Ref, reason code.SkipReason, offset, limit int) ([]api.SkippedFile, int, error) {
	i := s.versions.acquireLive()
	defer i.refCount.release()
	v := i.places.Acquire()
	defer v.Release()
	r := v.Repository(id)
	if r == nil || r.Ref(ref) == nil {
		return nil, 0, fmt.Errorf("ref %q: %w", ref, code.ErrNotFound)
	}
	total := 0
	for why, n := range r.Ref(ref).Skipped {
		if reason == "" || why == reason {
			total += n
		}
	}
	var files []api.SkippedFile
	after := ""
	for len(files) < limit {
		page, err := v.Skipped(ctx, id, ref, after, skippedPage)
		if err != nil {
			return nil, 0, err
		}
		for _, p := range page {
			if reason != "" && p.Skipped != reason {
				continue
			}
			if offset--; offset < 0 && len(files) < limit {
				files = append(files, api.SkippedFile{Path: p.Path, Ref: r.Ref(ref).Ref, Reason: p.Skipped, SizeBytes: p.SizeBytes})
			}
		}
		if len(page) < skippedPage {
			break
		}
		after = page[len(page)-1].Path
	}
	return files, total, nil
}
