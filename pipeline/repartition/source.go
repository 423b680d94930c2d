package repartition

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/topics"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ErrNotReady means that the state of the data directory cannot be written as a log now.
var ErrNotReady = errors.New("the data directory is not ready for another number of partitions")

const (
	// maxPending bounds the pushes that wait for workers, and maxPendingBytes their records.
	maxPending      = 100_000
	maxPendingBytes = 64 << 20
)

// SourceOptions are the options of Open. All are required.
type SourceOptions struct {
	Home    *projections.Home
	Log     eventlog.Log
	Objects segmentstore.Store
	// PartitionOf returns the partition of a repository in a log of n partitions.
	PartitionOf func(id code.RepositoryID, n int32) int32
	Logger      *slog.Logger
}

// Source is the state of an installation, in the projections of a data directory.
type Source struct {
	o       SourceOptions
	rows    *store.Store
	catalog *catalog.Snapshot
	places  *places.Places
	view    *places.View
	// ends are the ends of the partitions of the log.
	ends []event.Offset
	// pending are the pushes that workers have not handled.
	pending []event.Record
	// manifests are the lists of changes in the segment store that Write has named.
	manifests map[string]bool
	// id identifies the state; equal states of one log have the same.
	id []byte
	// at is the time of the last event of the log. Other topics may grow until the command is
	// repeated.
	at time.Time
	// partitions is Meta.Partitions.
	partitions int32
	closeViews func()
}

// Open opens the projections. It fails with ErrNotReady if they have not applied the whole
// log, or if something is in progress that the records of Write cannot continue.
func Open(ctx context.Context, o SourceOptions) (_ *Source, err error) {
	dir, err := o.Home.Current()
	if err != nil {
		return nil, err
	}
	meta, err := projections.ReadMeta(dir)
	if err == nil {
		err = projections.CheckMark(dir)
	}
	if err != nil {
		return nil, err
	}
	if meta.IsFrozen() {
		return nil, fmt.Errorf("%w: its projections show the past: run quarry replay --rollback", ErrNotReady)
	}
	if meta.Share != "" {
		return nil, fmt.Errorf("%w: its projections hold %q of the partitions: use that of a process that holds all", ErrNotReady, meta.Share)
	}
	s := &Source{o: o, partitions: meta.Partitions, manifests: map[string]bool{}}
	if s.rows, err = store.Open(dir, store.Options{Logger: o.Logger}); err != nil {
		return nil, fmt.Errorf("open projections: %w", err)
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Source) open(ctx context.Context) error {
	all, closeRows, err := versions.OpenRows(ctx, s.rows, s.o.Objects, projections.NewDecoder(s.o.Objects), s.o.Logger)
	if err != nil {
		return err
	}
	s.closeViews = closeRows
	if err := projections.CheckSchema(s.rows, all); err != nil {
		return err
	}
	known, where := versions.FindProjections(all)
	s.catalog, s.places, s.view = known.Snapshot(), where, where.Acquire()
	s.closeViews = func() { s.view.Release(); closeRows() }
	if s.ends, err = s.checkApplied(ctx); err != nil {
		return err
	}
	for _, e := range where.Erasures() {
		if e.EndedAt.IsZero() {
			return fmt.Errorf("%w: the erasure of %s is in progress: start the server, and wait until it is done", ErrNotReady, e.At)
		}
	}
	if n := s.view.BrokenRefs(); n > 0 {
		return fmt.Errorf("%w: %d refs have an event that could not be applied: start the server, which indexes them again", ErrNotReady, n)
	}
	if err := s.readPending(ctx); err != nil {
		return err
	}
	if s.at, err = topics.LastRecordTime(ctx, s.o.Log, event.TopicEvents); err != nil {
		return err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%v %d", s.ends, s.at.UnixMilli()))
	s.id = sum[:16]
	return nil
}

// checkApplied returns the ends of the partitions, all of whose records are applied.
func (s *Source) checkApplied(ctx context.Context) ([]event.Offset, error) {
	ends, err := s.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return nil, err
	}
	n := int32(len(ends))
	isOther := s.partitions != 0 && s.partitions != n
	for _, r := range s.view.Repositories() {
		if isOther || r != nil && s.o.PartitionOf(r.ID, n) != r.Partition {
			return nil, fmt.Errorf("%w: its projections are of a log with another number of partitions: if this command has made them, the new log is complete", ErrNotReady)
		}
	}
	for p, end := range ends {
		next, err := s.rows.Checkpoint(int32(p))
		if err != nil {
			return nil, err
		}
		if next != end {
			return nil, fmt.Errorf("%w: its projections are at record %d of partition %d of %s, and the log ends at %d: start a server with this data directory, wait until it is ready, and stop it",
				ErrNotReady, next, p, event.TopicEvents, end)
		}
	}
	return ends, nil
}

// readPending reads the pushes that no worker has handled. Other work must be done before,
// because the state shows its effects only in part.
func (s *Source) readPending(ctx context.Context) error {
	committed, err := s.o.Log.Committed(ctx, worker.DefaultGroup, event.TopicEvents)
	if err != nil {
		return err
	}
	size := 0
	for p, end := range s.ends {
		for rec, err := range event.ReadRange(ctx, s.o.Log, event.TopicEvents, int32(p), committed[p], end) {
			if err != nil {
				return err
			}
			kind := event.TypeOf(rec)
			if !event.ForWorkers(kind) {
				continue
			}
			if size += rec.SizeBytes(); kind != event.TypePush || len(s.pending) == maxPending || size > maxPendingBytes {
				return fmt.Errorf("%w: the workers have not handled the record %s (%s): start the server, wait until it has indexed everything, and stop it",
					ErrNotReady, rec.Position, kind)
			}
			s.pending = append(s.pending, rec)
		}
	}
	return nil
}

// Close closes the projections.
func (s *Source) Close() error {
	if s.closeViews != nil {
		s.closeViews()
	}
	return s.rows.Close()
}
