package indexer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// The indexed state of a mirror can lag behind the log: this process may have died
// between an append and the update of the mirror, or another worker may have held the
// partition in between. An event built on such a state would name a base that the
// projections lack. The mirrors therefore catch up with the log: all mirrors of a
// partition when it is assigned, and that of one repository after an announcement that
// may or may not have reached the log. In between, no other process announces, and the
// mirrors stay current.

// refKey names a ref of a repository.
type refKey struct {
	repo code.RepositoryID
	ref  code.Ref
}

// announcedRefs holds the last announcement of each ref in the log.
type announcedRefs struct {
	last  map[refKey]code.CommitID
	heads map[code.RepositoryID]code.Ref
	// removed are the repositories that were removed, including those registered again.
	removed map[code.RepositoryID]bool
	// pins and submodules hold the last list of each repository, nil after its removal.
	pins       map[code.RepositoryID][]code.CommitID
	submodules map[code.RepositoryID][]code.Submodule
	// causes holds the causes at or after the next record to handle.
	causes map[refKey]event.Offset
}

// sortedRefs returns the refs in a fixed order, so that a failure halfway can be
// reproduced.
func (t *announcedRefs) sortedRefs() []refKey {
	return slices.SortedFunc(maps.Keys(t.last), func(a, b refKey) int {
		return cmp.Or(cmp.Compare(a.repo, b.repo), cmp.Compare(a.ref, b.ref))
	})
}

// add applies the event of a record at offset at.
func (t *announcedRefs) add(ev event.Event, at event.Offset) {
	switch ev := ev.(type) {
	case *event.RevisionIndexed:
		k := refKey{ev.Repository, ev.Ref}
		t.last[k] = ev.Commit
		if ev.Cause.Offset >= at {
			t.causes[k] = max(t.causes[k], ev.Cause.Offset)
		}
		if ev.DefaultBranch != "" {
			t.heads[ev.Repository] = code.BranchRef(ev.DefaultBranch)
		}
	case *event.PinsChanged:
		t.pins[ev.Repository] = ev.Commits
	case *event.SubmodulesListed:
		t.submodules[ev.Repository] = ev.Submodules
	case *event.RepositoryRemoved:
		t.removed[ev.Repository], t.pins[ev.Repository], t.submodules[ev.Repository] = true, nil, nil
		for k := range t.last {
			if k.repo == ev.Repository {
				delete(t.last, k)
			}
		}
	}
}

// listedRepositories returns the repositories whose pins or submodules changed.
func (t *announcedRefs) listedRepositories() []code.RepositoryID {
	all := slices.AppendSeq(slices.Collect(maps.Keys(t.pins)), maps.Keys(t.submodules))
	slices.Sort(all)
	return slices.Compact(all)
}

// saveLists stores the pins and submodules of a repository if they changed and the mirror
// has its registration.
func (t *announcedRefs) saveLists(m *mirror.Mirror, repo code.RepositoryID) error {
	if _, err := m.Repository(); err != nil {
		return ignoreUnregistered(err)
	}
	if pins, changed := t.pins[repo]; changed {
		if err := m.SavePins(pins); err != nil {
			return err
		}
	}
	if list, changed := t.submodules[repo]; changed {
		return m.SaveSubmodules(list)
	}
	return nil
}

// Assigned implements worker.Handler. It makes the mirrors of a partition catch up with
// the log, from the last mark, or from its beginning, to its end. A million records take
// about a second. A mirror that fails to catch up is tried again before the next record
// of its repository, which then fails alone.
func (x *Indexer) Assigned(ctx context.Context, first event.Position) error {
	from, err := x.readMark(ctx, first)
	var mirrors []code.RepositoryID
	if err == nil && from == 0 {
		mirrors, err = x.listMirrors(ctx, first)
		if len(mirrors) == 0 {
			// Nothing can be out of date: announcements with later causes than the first record
			// come after it.
			from = first.Offset
		}
	}
	if err != nil {
		return fmt.Errorf("catch up with the log: %w", err)
	}
	what, err := x.readAnnounced(ctx, from, first, 0)
	if err != nil {
		return err
	}
	x.partitions.beginPartition(first.Partition, what.causes)
	for _, repo := range slices.Sorted(maps.Keys(what.removed)) {
		if err := x.forgetIndexed(ctx, repo); err != nil {
			return fmt.Errorf("catch up with the log: %w", err)
		}
	}
	if from == 0 {
		if err := x.forgetUnannounced(ctx, mirrors, what); err != nil {
			return err
		}
	}
	for _, repo := range what.listedRepositories() {
		if err := what.saveLists(x.o.Mirrors.Mirror(repo), repo); err != nil {
			x.partitions.markStale(first.Partition, repo, from)
			x.o.Logger.Warn("cannot save the pins and submodules of a repository; retrying before its next event", "repository", repo, "error", err)
		}
	}
	for _, k := range what.sortedRefs() {
		if err := x.syncIndexedCommit(ctx, k, what.last[k], what.heads[k.repo]); err != nil {
			if ctx.Err() != nil {
				return err
			}
			x.partitions.markStale(first.Partition, k.repo, from)
			x.o.Logger.Warn("mirror could not catch up with the log; retrying before the next event of its repository",
				"repository", k.repo, "error", err)
		}
	}
	return nil
}

// catchUpRepository makes the mirror of one repository catch up with the log if it may
// lag behind.
func (x *Indexer) catchUpRepository(ctx context.Context, repo code.RepositoryID, at event.Position) error {
	since, doubtful := x.partitions.staleSince(at.Partition, repo)
	if !doubtful {
		return nil
	}
	what, err := x.readAnnounced(ctx, since, at, repo)
	if err != nil {
		return err
	}
	if err := what.saveLists(x.o.Mirrors.Mirror(repo), repo); err != nil {
		return err
	}
	for _, k := range what.sortedRefs() {
		if err := x.syncIndexedCommit(ctx, k, what.last[k], what.heads[repo]); err != nil {
			return err
		}
	}
	x.partitions.markCaughtUp(at.Partition, repo, what.causes)
	return nil
}

// readAnnounced reads the announcements of a repository, or of all if repo is 0, from an
// offset to the end of the log. at is the position of the record to handle. If the beginning of
// the log was deleted, it reads the rest for a single repository: without it, none whose mirror is
// lost could be indexed again.
func (x *Indexer) readAnnounced(ctx context.Context, from event.Offset, at event.Position, repo code.RepositoryID) (announcedRefs, error) {
	what := announcedRefs{map[refKey]code.CommitID{}, map[code.RepositoryID]code.Ref{}, map[code.RepositoryID]bool{}, map[code.RepositoryID][]code.CommitID{}, map[code.RepositoryID][]code.Submodule{}, map[refKey]event.Offset{}}
	high, err := x.o.Log.HighWater(ctx, at.Topic)
	if err == nil {
		end := event.Position{Topic: at.Topic, Partition: at.Partition, Offset: high[at.Partition]}
		var lost error
		lost, err = x.scanKept(ctx, from, end, repo, func(ev event.Event) { what.add(ev, at.Offset) },
			event.TypeRevisionIndexed, event.TypeRepositoryRemoved, event.TypePinsChanged, event.TypeSubmodulesListed)
		if lost != nil && repo == 0 {
			err = lost
		} else if lost != nil {
			x.o.Logger.Warn("the beginning of the log was deleted; refs of a repository that were deleted since may stay searchable until quarry verify --repair", "repository_id", repo, "error", lost)
		}
	}
	if err != nil {
		return what, fmt.Errorf("catch up with the log: %w", err)
	}
	return what, nil
}

// forgetIndexed clears the indexed refs of a repository that was removed, perhaps by
// another process: its leftover mirror shares no state with the log. Refs announced after
// the removal are synchronized afterwards.
func (x *Indexer) forgetIndexed(ctx context.Context, repo code.RepositoryID) error {
	m := x.o.Mirrors.Mirror(repo)
	indexed, err := m.IndexedRevisions(ctx)
	if err != nil || len(indexed) == 0 {
		return err
	}
	for _, rev := range indexed {
		if err := m.SetIndexed(ctx, rev.Ref, "", ""); err != nil {
			return err
		}
	}
	return m.SetIndexedComplete(false)
}

// forgetUnannounced clears the indexed refs of repositories that the log, which was read from its
// first record, has not announced: it has replaced another log, and another process may have
// announced there that they were deleted.
func (x *Indexer) forgetUnannounced(ctx context.Context, repositories []code.RepositoryID, what announcedRefs) error {
	for _, repo := range repositories {
		m := x.o.Mirrors.Mirror(repo)
		indexed, err := m.IndexedRevisions(ctx)
		var unknown []code.Ref
		for _, rev := range indexed {
			if _, announced := what.last[refKey{repo, rev.Ref}]; !announced {
				unknown = append(unknown, rev.Ref)
			}
		}
		if err == nil && len(unknown) > 0 {
			err = m.RemoveIndexed(ctx, unknown, what.heads[repo])
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			x.o.Logger.Warn("cannot compare a mirror with the log; it may believe that refs are indexed which are not", "repository", repo, "error", err)
		}
	}
	return nil
}

// listMirrors returns the repositories of a partition that have mirrors.
func (x *Indexer) listMirrors(ctx context.Context, at event.Position) ([]code.RepositoryID, error) {
	high, err := x.o.Log.HighWater(ctx, at.Topic)
	if err != nil {
		return nil, err
	}
	known, err := x.o.Mirrors.Repositories()
	return slices.DeleteFunc(known, func(id code.RepositoryID) bool {
		return eventlog.PartitionOf(event.RecordKey(id), int32(len(high))) != at.Partition
	}), err
}

// syncIndexedCommit sets the indexed commit of a ref to the one in the log. If the mirror
// lacks that commit, the next announcement of the ref is a full manifest, and the next
// run over all refs reads the log, because the ref may have been deleted by then.
func (x *Indexer) syncIndexedCommit(ctx context.Context, k refKey, commit code.CommitID, head code.Ref) error {
	m := x.o.Mirrors.Mirror(k.repo)
	if _, err := m.Repository(); errors.Is(err, code.ErrNotFound) || !m.Exists() {
		return nil // no mirror, no state
	}
	done, err := m.IndexedCommit(ctx, k.ref)
	if errors.Is(err, mirror.ErrMissing) || errors.Is(err, code.ErrNotFound) {
		return nil
	}
	if err != nil || done == commit {
		return err
	}
	x.metrics.caughtUp.Inc()
	err = m.SetIndexed(ctx, k.ref, commit, head)
	if !errors.Is(err, mirror.ErrMissing) {
		return err
	}
	if err := m.SetIndexedComplete(false); err != nil {
		return err
	}
	return m.SetIndexed(ctx, k.ref, "", head)
}

// scanEvents calls visit for the events of the given types in a partition, of one
// repository or, for 0, of all, from an offset up to but excluding a position.
func (x *Indexer) scanEvents(ctx context.Context, from event.Offset, end event.Position, repo code.RepositoryID, visit func(event.Event), types ...event.Type) error {
	wanted := map[event.Type]bool{}
	for _, t := range types {
		wanted[t] = true
	}
	key := event.RecordKey(repo)
	for rec, err := range event.ReadRange(ctx, x.o.Log, end.Topic, end.Partition, from, end.Offset) {
		if err != nil {
			return err
		}
		if wanted[event.TypeOf(rec)] && (key == nil || bytes.Equal(key, rec.Key)) {
			if _, ev, err := event.Decode(rec); err == nil {
				visit(ev)
			}
		}
	}
	return nil
}

// scanKept calls scanEvents. If the log begins after the offset, because its beginning was deleted,
// it reads what is kept, and lost is the error.
func (x *Indexer) scanKept(ctx context.Context, from event.Offset, end event.Position, repo code.RepositoryID, visit func(event.Event), types ...event.Type) (lost, err error) {
	err = x.scanEvents(ctx, from, end, repo, visit, types...)
	if out := new(event.RangeError); errors.As(err, &out) && from < out.First {
		return err, x.scanEvents(ctx, out.First, end, repo, visit, types...)
	}
	return nil, err
}
