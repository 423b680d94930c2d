package indexstatus

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// Reader reports the progress of indexing a repository.
type Reader struct {
	log      eventlog.Log
	versions *versions.Versions
	// pipeline returns the pipeline of this process. It returns nil if another process
	// indexes; then nothing is known about imports.
	pipeline func() *Pipeline
}

// New returns a Reader of the live version. All arguments are required; pipeline may
// return nil.
func New(log eventlog.Log, v *versions.Versions, pipeline func() *Pipeline) *Reader {
	return &Reader{log: log, versions: v, pipeline: pipeline}
}

// Status returns the status of a repository.
func (s *Reader) Status(ctx context.Context, id code.RepositoryID) (indexing.Status, error) {
	i := s.versions.Acquire()
	defer i.Release()
	known, ok := i.Catalog.Snapshot().ByID(id)
	if !ok {
		return indexing.Status{}, fmt.Errorf("status: %w", code.ErrNotFound)
	}
	// Read the position before the view, so that the view shows everything up to the
	// position.
	out := newStatus(known)
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
	v := i.Places.Acquire()
	defer v.Release()
	s.describeIndex(v, &out)
	s.addWork(&out)
	if p := s.pipeline(); p != nil && p.Worker != nil && len(out.Refs) > 0 {
		if _, held := p.Worker.DoneBelow(at.Partition, event.RecordKey(id)); held {
			out.MirrorMissing = !p.Mirrors.Mirror(id).Exists()
		}
	}
	return out, nil
}

// Work returns the current or last work of this process's pipeline on a repository. It
// returns false if the repository is not registered.
func (s *Reader) Work(id code.RepositoryID) (indexing.Status, bool) {
	i := s.versions.Acquire()
	defer i.Release()
	known, ok := i.Catalog.Snapshot().ByID(id)
	if !ok {
		return indexing.Status{}, false
	}
	v := i.Places.Acquire()
	defer v.Release()
	out := newStatus(known)
	if r := v.Repository(id); r != nil && len(r.Refs) > 0 {
		out.State = indexing.Indexed
	}
	s.addWork(&out)
	return out, true
}

func newStatus(r *catalog.Repository) indexing.Status {
	return indexing.Status{Repository: r.Repository, IndexedAt: r.IndexedAt, PushedAt: r.PushedAt, State: indexing.Registered}
}

// appliedPosition returns a position in the repository's partition below which its events
// have taken effect. If the worker of the partition runs in this process, the events of
// other repositories, whose hosts may be down, do not delay it.
func (s *Reader) appliedPosition(ctx context.Context, i *versions.Version, id code.RepositoryID) (event.Position, error) {
	n, err := s.log.Partitions(ctx, event.TopicEvents)
	if err != nil {
		return event.Position{}, err
	}
	key := event.RecordKey(id)
	partition := eventlog.PartitionOf(key, n)
	var done event.Offset
	if p := s.pipeline(); p != nil && p.Worker != nil {
		done, _ = p.Worker.DoneBelow(partition, key)
	}
	before, err := i.Fence.AppliedOffsetOf(ctx, partition, id, done)
	return event.Position{Topic: event.TopicEvents, Partition: partition, Offset: before}, err
}

// maxWaitingRecords bounds the records that are read to find waiting pushes. Reading that
// many takes tens of milliseconds.
const maxWaitingRecords = 10_000

// countWaitingPushes counts the pushes of a repository at or after a position, which have
// not taken effect.
func (s *Reader) countWaitingPushes(ctx context.Context, id code.RepositoryID, from event.Position, out *indexing.Freshness) error {
	high, err := s.log.HighWater(ctx, event.TopicEvents)
	if err != nil || int(from.Partition) >= len(high) || from.Offset >= high[from.Partition] {
		return err
	}
	end := high[from.Partition]
	if out.More = end-from.Offset > maxWaitingRecords; out.More {
		end = from.Offset + maxWaitingRecords
	}
	key := event.RecordKey(id)
	for rec, err := range event.ReadRange(ctx, s.log, event.TopicEvents, from.Partition, from.Offset, end) {
		if err != nil {
			return err
		}
		if !bytes.Equal(rec.Key, key) || event.TypeOf(rec) != event.TypePush {
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

// describeIndex fills in the state of the repository in the view.
func (s *Reader) describeIndex(v *places.View, out *indexing.Status) {
	r := v.Repository(out.Repository.ID)
	if r == nil {
		return
	}
	for _, ref := range r.Refs {
		if f := &out.Freshness; ref.IndexedAt.After(f.IndexedAt) {
			f.Ref, f.Commit, f.ReceivedAt, f.IndexedAt = ref.Ref, ref.Commit, ref.PushedAt, ref.IndexedAt
		}
		out.Refs = append(out.Refs, indexing.Ref{Ref: ref.Ref, Commit: ref.Commit, IndexedAt: ref.IndexedAt})
	}
	if len(r.Refs) > 0 {
		out.State = indexing.Indexed
	}
	if r.Default == nil {
		return
	}
	out.Commit = r.Default.Commit
	out.Files = r.Default.Files
	for _, n := range r.Default.Skipped {
		out.SkippedFiles += n
	}
	out.Segments = countSegments(v, r)
}

// countSegments counts the segments that contain documents of a repository's default
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

// addWork fills in the work of this process's pipeline on the repository.
func (s *Reader) addWork(out *indexing.Status) {
	p := s.pipeline()
	if p == nil {
		return
	}
	p.describeWork(out)
	switch {
	case out.State == indexing.Indexed:
	case out.Progress != nil:
		out.State = indexing.Importing
	case out.LastError != nil:
		out.State = indexing.Failed
	}
	out.Empty = out.Empty && out.State == indexing.Registered
}

// skippedPage is the number of skipped files in one read.
const skippedPage = 1000

// Skipped returns the files of a ref that are not indexed.
func (s *Reader) Skipped(ctx context.Context, id code.RepositoryID, ref code.Ref, reason string, offset, limit int) ([]indexing.SkippedFile, int, error) {
	i := s.versions.Acquire()
	defer i.Release()
	v := i.Places.Acquire()
	defer v.Release()
	r := v.Repository(id)
	switch {
	case (r == nil || r.Default == nil) && ref == "":
		return nil, 0, fmt.Errorf("no commits are indexed, so no file is skipped: %w", code.ErrNotFound)
	case r == nil || r.Ref(ref) == nil:
		return nil, 0, fmt.Errorf("ref %q: %w", ref, code.ErrNotFound)
	}
	total := 0
	for why, n := range r.Ref(ref).Skipped {
		if reason == "" || string(why) == reason {
			total += n
		}
	}
	partial, err := v.CountPartialSymbols(ctx, id, ref)
	if err != nil {
		return nil, 0, err
	}
	for why, n := range partial {
		if reason == "" || string(why) == reason {
			total += n
		}
	}
	var files []indexing.SkippedFile
	after := ""
	for len(files) < limit {
		page, err := v.Skipped(ctx, id, ref, after, skippedPage)
		if err != nil {
			return nil, 0, err
		}
		for _, p := range page {
			if reason != "" && string(p.Skipped) != reason && string(p.PartialSymbols) != reason {
				continue
			}
			if offset--; offset < 0 && len(files) < limit {
				files = append(files, indexing.SkippedFile{Path: p.Path, Ref: r.Ref(ref).Ref, Reason: p.Skipped, PartialSymbols: p.PartialSymbols, SizeBytes: p.SizeBytes})
			}
		}
		if len(page) < skippedPage {
			break
		}
		after = page[len(page)-1].Path
	}
	return files, total, nil
}
