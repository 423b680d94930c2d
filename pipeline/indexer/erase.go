package indexer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// errOnDisk means that a copy would restore the text.
var errOnDisk = errors.New("the repository on disk still holds it: run git reflog expire --expire=now --all and git gc --prune=now in it, then erase it again")

// eraseText removes text that no ref reaches from the mirror.
func (x *Indexer) eraseText(ctx context.Context, ev *event.ErasureRequested, at event.Position, job *job) error {
	m := x.o.Mirrors.Mirror(ev.Repository)
	var err error
	if ev.Path != "" {
		err = m.ErasePath(ctx, ev.Path)
	} else {
		err = m.EraseCommit(ctx, ev.Commit)
	}
	if errors.Is(err, mirror.ErrReachable) {
		return fmt.Errorf("%w: %w", worker.ErrPermanent, err)
	}
	if err != nil {
		return err
	}
	if err := readingsOf(m).removeFiles(); err != nil { // they contain the names of its blobs
		return err
	}
	if !m.Exists() { // it was a copy of a repository on disk
		if err := x.copyAgain(ctx, m, ev, at, job); err != nil {
			return err
		}
	}
	x.o.Logger.Info("text erased from a mirror", "repository", nameOf(m), "repository_id", ev.Repository, "commit", string(ev.Commit), "path", ev.Path, "position", at.String())
	return nil
}

// copyAgain copies a repository on disk from scratch, without the erased text.
func (x *Indexer) copyAgain(ctx context.Context, m *mirror.Mirror, ev *event.ErasureRequested, at event.Position, job *job) error {
	r, err := x.loadRepository(ctx, m, ev.Repository, at)
	if errors.Is(err, code.ErrNotFound) {
		return nil // it has been removed
	}
	if err == nil {
		_, err = x.indexRepository(ctx, m, r, indexRequest{cause: sameCause(cause{position: at, receivedAt: ev.At})}, job)
	}
	if err != nil {
		return err
	}
	has := false
	if ev.Path != "" {
		has, err = m.HasPath(ctx, ev.Path)
	} else {
		has, err = m.HasCommit(ctx, ev.Commit)
	}
	if err == nil && has {
		err = fmt.Errorf("%w: %w", worker.ErrPermanent, errOnDisk)
	}
	return err
}

// deleteUnannounced deletes the segments that were built for a repository and that no
// event in the log names. No other repository can name them, because their IDs depend on
// the repository.
func (x *Indexer) deleteUnannounced(ctx context.Context, m *mirror.Mirror, id code.RepositoryID, at event.Position) error {
	segments, err := m.UnannouncedSegments()
	if err != nil || len(segments) == 0 {
		return err
	}
	high, err := x.o.Log.HighWater(ctx, at.Topic)
	if err != nil {
		return err
	}
	end := event.Position{Topic: at.Topic, Partition: at.Partition, Offset: high[at.Partition]}
	err = x.scanEvents(ctx, 0, end, id, func(ev event.Event) {
		if r, ok := ev.(*event.RevisionIndexed); ok {
			for _, ref := range r.Segments {
				segments = slices.DeleteFunc(segments, func(s string) bool { return s == ref.ID })
			}
		}
	}, event.TypeRevisionIndexed)
	if err != nil {
		return fmt.Errorf("look for segments that were not announced: %w", err)
	}
	for _, text := range segments {
		parsed, err := segment.ParseID(text)
		if err != nil {
			continue // torn by a crash: the segment was never stored
		}
		err = x.o.Segments.Delete(ctx, segmentstore.SegmentName(parsed))
		if errors.Is(err, segmentstore.ErrHeld) { // a backup is running
			err = fmt.Errorf("%w: %w", worker.ErrElsewhere, err)
		}
		if err != nil {
			return fmt.Errorf("delete segment %s, which was not announced: %w", text, err)
		}
	}
	return nil
}
