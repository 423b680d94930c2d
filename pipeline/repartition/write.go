package repartition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/compactor"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// source is the CloudEvents source of the records.
const source = "/pipeline/repartition"

// Options are the options of Write. All are required unless noted otherwise.
type Options struct {
	// Log receives the records. It must be empty.
	Log eventlog.Importer
	// TempDir is a directory for temporary files. It must exist.
	TempDir string
	// SegmentBytes is the text of the largest segment; 0 means the default.
	SegmentBytes int64
	// Progress is called after each repository. Optional.
	Progress func(done, total int)
}

// Result counts what was written.
type Result struct {
	Repositories int   `json:"repositories"`
	Refs         int   `json:"refs"`
	Documents    int   `json:"documents"`
	TextBytes    int64 `json:"textBytes"`
	Segments     int   `json:"segments"`
	// Pushes are those that workers have yet to handle.
	Pushes int `json:"pushes"`
}

// writer writes the records of one partition.
type writer struct {
	*Source
	o         Options
	partition int32
	next      event.Offset
	// held are the documents that segments of the partition hold.
	held    map[code.DocumentKey]struct{}
	builder *segment.Builder
	result  *Result
}

// Write writes the records that lead to the state of the source, and stores the segments and
// manifests that they name. Then it notes the positions of the groups that commit offsets.
func (s *Source) Write(ctx context.Context, o Options) (result Result, err error) {
	ends, err := o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return result, err
	}
	if slices.Max(ends) > 0 {
		return result, errors.New("the new log is not empty")
	}
	repositories := slices.DeleteFunc(slices.Clone(s.view.Repositories()), func(r *places.Repository) bool { return r == nil })
	slices.SortFunc(repositories, func(a, b *places.Repository) int {
		if a.Private != b.Private {
			if b.Private {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	builder, handled := segment.NewBuilder(segment.Options{}), make([]event.Offset, len(ends))
	for p := range ends {
		w := &writer{Source: s, o: o, partition: int32(p), held: map[code.DocumentKey]struct{}{}, builder: builder, result: &result}
		for _, r := range repositories {
			if eventlog.PartitionOf(event.RecordKey(r.ID), int32(len(ends))) != w.partition {
				continue
			}
			if err := w.writeRepository(ctx, r); err != nil {
				return result, fmt.Errorf("repository %s: %w", r.Name, err)
			}
			result.Repositories++
			if o.Progress != nil {
				o.Progress(result.Repositories, len(repositories))
			}
		}
		handled[p] = w.next
		for _, rec := range s.pending {
			if eventlog.PartitionOf(rec.Key, int32(len(ends))) == w.partition {
				if err := w.appendRecord(ctx, event.Record{Key: rec.Key, Headers: rec.Headers, Value: rec.Value}); err != nil {
					return result, err
				}
				result.Pushes++
			}
		}
		ends[p] = w.next
	}
	err = o.Log.Note(ctx, worker.DefaultGroup, event.TopicEvents, handled)
	for _, group := range []string{compactor.DefaultGroup, projections.Group} {
		err = cmp.Or(err, o.Log.Note(ctx, group, event.TopicEvents, ends))
	}
	return result, err
}

// writeRepository writes the records of a repository.
func (w *writer) writeRepository(ctx context.Context, r *places.Repository) error {
	known, found := w.catalog.ByID(r.ID)
	if !found {
		return errors.New("the catalog does not have it: run quarry replay")
	}
	since := event.Position{Topic: event.TopicEvents, Partition: w.partition, Offset: w.next}
	if err := w.append(ctx, since, "registered", &event.RepositoryRegistered{Repository: known.Repository, At: known.RegisteredAt}); err != nil {
		return err
	}
	if !known.ChangedAt.Equal(known.RegisteredAt) {
		if err := w.append(ctx, since, "changed", &event.RepositoryChanged{Repository: known.Repository, At: known.ChangedAt}); err != nil {
			return err
		}
	}
	if err := w.writeRefs(ctx, r, known, since); err != nil {
		return err
	}
	if len(known.ListedSubmodules) > 0 {
		if err := w.append(ctx, since, "submodules", &event.SubmodulesListed{Repository: r.ID, Submodules: known.ListedSubmodules, Cause: since, At: known.ChangedAt}); err != nil {
			return err
		}
	}
	if len(known.Pins) > 0 {
		if err := w.append(ctx, since, "pins", &event.PinsChanged{Repository: r.ID, Commits: known.Pins, At: known.ChangedAt}); err != nil {
			return err
		}
	}
	for i, u := range slices.Backward(known.ScipUploads) { // the newest is the first
		ev := &event.ScipUploaded{
			Repository: r.ID, Commit: u.Commit, Path: u.Path, Object: u.Object, SizeBytes: u.SizeBytes, Documents: u.Documents, Occurrences: u.Occurrences,
			Symbols: u.Symbols, Tool: u.Tool, ToolVersion: u.ToolVersion, Keep: event.MaxScipUploads, At: u.At,
		}
		if err := w.append(ctx, since, fmt.Sprint("scip/", i), ev); err != nil {
			return err
		}
	}
	return nil
}

// writeRefs announces the refs of a repository: the first with all files, the others relative
// to it. The first is the default branch, if it is indexed; the others follow in the order in
// which they were indexed, since the catalog shows the time of the last event. If that is the
// first ref, it is announced again without changes.
func (w *writer) writeRefs(ctx context.Context, r *places.Repository, known *catalog.Repository, since event.Position) error {
	if len(r.Refs) == 0 {
		return nil
	}
	segments, err := w.writeSegments(ctx, r)
	if err != nil {
		return err
	}
	refs := slices.Clone(r.Refs)
	slices.SortFunc(refs, func(a, b *places.Ref) int {
		switch {
		case a == r.Default:
			return -1
		case b == r.Default:
			return 1
		}
		return cmp.Or(a.IndexedAt.Compare(b.IndexedAt), cmp.Compare(a.Ref, b.Ref))
	})
	first := refs[0]
	base, err := w.readFiles(ctx, r.ID, first.Ref)
	if err != nil {
		return err
	}
	announce := func(ref *places.Ref, cause event.Position, relative bool, changes []event.Change, segments []event.SegmentRef) error {
		ev := &event.RevisionIndexed{
			Repository: r.ID, Ref: ref.Ref, Commit: ref.Commit, CommitTime: ref.CommitTime, DefaultBranch: known.DefaultBranch,
			Segments: segments, Changes: changes, Cause: cause, PushedAt: ref.PushedAt, IndexedAt: ref.IndexedAt,
		}
		if relative {
			ev.BaseRef, ev.BaseCommit = first.Ref, first.Commit
		}
		return w.append(ctx, cause, "indexed/"+string(ref.Ref), ev)
	}
	if err := announce(first, since, false, base, segments); err != nil {
		return err
	}
	announced := event.Position{Topic: since.Topic, Partition: since.Partition, Offset: w.next - 1}
	for _, ref := range refs[1:] {
		files, err := w.readFiles(ctx, r.ID, ref.Ref)
		if err != nil {
			return err
		}
		if err := announce(ref, since, true, diffFiles(base, files), nil); err != nil {
			return err
		}
	}
	w.result.Refs += len(refs)
	if last := refs[len(refs)-1]; first.IndexedAt.After(last.IndexedAt) {
		return announce(first, announced, true, nil, nil)
	}
	return nil
}

// readFiles returns the files of a ref as the changes of a full manifest.
func (w *writer) readFiles(ctx context.Context, id code.RepositoryID, ref code.Ref) (files []event.Change, err error) {
	err = w.view.Files(ctx, id, ref, "", func(p places.Place) bool {
		files = append(files, event.Change{
			Path: p.Path, Blob: p.Document.Blob, Language: p.Document.Language, Flags: p.Flags, Skipped: p.Skipped, SizeBytes: p.SizeBytes,
		})
		return true
	})
	return files, err
}

// diffFiles returns the changes that lead from one manifest to another one.
func diffFiles(from, to []event.Change) (changes []event.Change) {
	for len(from) > 0 || len(to) > 0 {
		switch {
		case len(to) == 0 || len(from) > 0 && from[0].Path < to[0].Path:
			changes = append(changes, event.Change{Path: from[0].Path})
			from = from[1:]
			continue
		case len(from) > 0 && from[0].Path == to[0].Path:
			if from[0] != to[0] {
				changes = append(changes, to[0])
			}
			from = from[1:]
		default:
			changes = append(changes, to[0])
		}
		to = to[1:]
	}
	return changes
}

// append appends an event, whose ID is derived from its cause. A list of changes that is too
// long for an event is stored in the segment store.
func (w *writer) append(ctx context.Context, cause event.Position, step string, ev event.Event) error {
	env := event.Envelope{ID: event.DerivedID(cause, step), Source: source, Time: w.at}
	rev, isRevision := ev.(*event.RevisionIndexed)
	var rec event.Record
	var err error
	if !isRevision || len(rev.Changes) <= event.MaxInlineChanges {
		rec, err = event.Encode(env, ev)
	}
	if isRevision && (len(rev.Changes) > event.MaxInlineChanges || errors.Is(err, event.ErrTooLarge)) {
		name, object, err := segmentstore.EncodeChanges(rev.Changes)
		if err != nil {
			return err
		}
		if err := w.Source.o.Objects.PutBytes(ctx, name, object); err != nil {
			return fmt.Errorf("store changes: %w", err)
		}
		w.manifests[name] = true
		rev.Changes, rev.ChangesObject = nil, name
		if rec, err = event.Encode(env, rev); err != nil {
			return err
		}
		return w.appendRecord(ctx, rec)
	}
	if err != nil {
		return err
	}
	return w.appendRecord(ctx, rec)
}

// appendRecord appends a record with the time of the last record of the old log.
func (w *writer) appendRecord(ctx context.Context, rec event.Record) error {
	rec.Time = w.at
	positions, err := w.o.Log.Import(ctx, event.TopicEvents, w.partition, rec)
	if err != nil {
		return err
	}
	if positions[0].Offset != w.next {
		return fmt.Errorf("a record was added at %s in place of offset %d: something else writes to the new log", positions[0], w.next)
	}
	w.next++
	return nil
}
