package snapshotter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/sharding"
)

const (
	// group is the group of processes whose leader creates snapshots; those of a share have
	// one for themselves.
	group = "quarry-snapshots"
	// lookEvery is the interval at which the snapshots are listed for the metrics, and at
	// which the leader looks whether one is due.
	lookEvery = time.Minute
	// maxListed bounds the snapshots that List returns.
	maxListed = 1000
)

// Options are the options of New. All are required.
type Options struct {
	Archive  *snapshots.Archive
	Versions *versions.Versions
	// Lead calls work while this process leads a group, until ctx ends.
	Lead func(ctx context.Context, group string, work func(ctx context.Context) error) error
	// Share is that of the versions, and Partitions are its partitions, none if it is all.
	Share      sharding.Share
	Partitions []int32
	// Interval is the interval at which snapshots are created; 0: only on request.
	Interval time.Duration
	// Keep is the number of snapshots to keep.
	Keep       int
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Snapshotter creates snapshots of the live version.
type Snapshotter struct {
	o       Options
	metrics *metrics
	// orders has room for one request.
	orders chan struct{}
	mu     struct {
		sync.Mutex
		creating bool
		// failure is the reason why the last creation failed.
		failure string
	}
}

// New returns a Snapshotter.
func New(o Options) *Snapshotter {
	return &Snapshotter{o: o, metrics: newMetrics(o.Registerer, o.Interval.Seconds()), orders: make(chan struct{}, 1)}
}

// Run creates snapshots until ctx ends.
func (s *Snapshotter) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for {
			select {
			case <-s.orders:
				s.createNow(gctx)
			case <-gctx.Done():
				return nil
			}
		}
	})
	g.Go(func() error {
		s.updateMetrics(gctx)
		return clock.RunEvery(gctx, lookEvery, s.updateMetrics)
	})
	if s.o.Interval > 0 {
		g.Go(func() error {
			return s.o.Lead(gctx, groupName(s.o.Share), func(ctx context.Context) error {
				for {
					s.createIfDue(ctx)
					if err := clock.Sleep(ctx, min(lookEvery, s.o.Interval)); err != nil {
						return err
					}
				}
			})
		})
	}
	return g.Wait()
}

// groupName returns the name of the group of a share, with a digest: a share may have characters
// that names of groups do not have, and be longer.
func groupName(share sharding.Share) string {
	if share.IsAll() {
		return group
	}
	digest := sha256.Sum256([]byte(share.String()))
	return group + "-" + hex.EncodeToString(digest[:8])
}

// createIfDue creates a snapshot if the newest one that can be used is as old as the interval.
func (s *Snapshotter) createIfDue(ctx context.Context) {
	list, err := s.o.Archive.List(ctx)
	if err != nil {
		s.o.Logger.Warn("cannot list the snapshots; trying again", "error", err)
		return
	}
	if m := s.findNewest(list); (m == nil || s.o.Now().Sub(m.CreatedAt) >= s.o.Interval) && s.beginCreation() == nil {
		s.createNow(ctx)
	}
}

// findNewest returns the newest snapshot that can be used, of a list that begins with the newest
// one. For a share, it is the oldest of those that are the newest of a partition. The result is nil
// if something would have to be replayed from the beginning of the log.
func (s *Snapshotter) findNewest(list []snapshots.Snapshot) *snapshots.Manifest {
	find := func(suits func(*snapshots.Manifest) bool) *snapshots.Manifest {
		for _, known := range list {
			if known.Manifest != nil && suits(known.Manifest) {
				return known.Manifest
			}
		}
		return nil
	}
	if s.o.Share.IsAll() {
		return find((*snapshots.Manifest).IsWhole)
	}
	var oldest *snapshots.Manifest
	for _, p := range s.o.Partitions {
		m := find(func(m *snapshots.Manifest) bool { return m.Has(p) })
		if m == nil {
			return nil
		}
		if oldest == nil || m.CreatedAt.Before(oldest.CreatedAt) {
			oldest = m
		}
	}
	return oldest
}

// Create starts to create a snapshot. The error wraps failure.ErrConflict while one is being
// created, or if none can be.
func (s *Snapshotter) Create(context.Context) error {
	if err := s.beginCreation(); err != nil {
		return err
	}
	s.orders <- struct{}{} // there is room: beginCreation admits one
	return nil
}

// beginCreation notes that a snapshot is being created, unless none can be.
func (s *Snapshotter) beginCreation() error {
	if at := s.o.Versions.AsOf(); at != "" {
		return fmt.Errorf("%w: the index shows a moment of the past, %s; quarry replay --rollback returns to the present",
			failure.ErrConflict, at)
	}
	if !s.o.Versions.CaughtUp() {
		return fmt.Errorf("%w: the index is catching up with the log; try again later", failure.ErrConflict)
	}
	if !slices.ContainsFunc(s.o.Versions.Checkpoints(), func(c projections.Checkpoint) bool { return c.Next > 0 }) {
		return fmt.Errorf("%w: the index has applied no record yet; register a repository first", failure.ErrConflict)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.creating {
		return fmt.Errorf("%w: a snapshot is being created", failure.ErrConflict)
	}
	s.mu.creating = true
	return nil
}

// createNow creates a snapshot after beginCreation, and deletes older ones.
func (s *Snapshotter) createNow(ctx context.Context) {
	version := s.o.Versions.Acquire()
	defer version.Release()
	m, err := s.o.Archive.Create(ctx, version.Store, s.o.Versions.SnapshotContents())
	var deleted []string
	if err == nil {
		if deleted, err = s.o.Archive.Prune(ctx, s.o.Keep); err != nil {
			s.o.Logger.Warn("cannot delete older snapshots; the next one tries again", "error", err)
		}
		s.o.Logger.Info("snapshot created", "snapshot", m.Name, "rows", m.Rows(), "bytes", m.Bytes(), "segments", m.Segments, "seconds", m.Seconds, "deleted", len(deleted))
	} else if ctx.Err() == nil {
		s.o.Logger.Error("cannot create a snapshot", "error", err)
	}
	s.mu.Lock()
	s.mu.creating, s.mu.failure = false, ""
	if err != nil {
		s.mu.failure = err.Error()
	}
	s.mu.Unlock()
	result := resultDone
	if m == nil {
		result = resultFailed
	}
	s.metrics.created.WithLabelValues(result).Inc()
	s.updateMetrics(ctx)
}

// updateMetrics sets the metrics of the snapshots in the segment store.
func (s *Snapshotter) updateMetrics(ctx context.Context) {
	list, err := s.o.Archive.List(ctx)
	if err != nil {
		s.metrics.failedLooks.Set(1)
		return
	}
	s.metrics.failedLooks.Set(0)
	kept := 0
	for _, known := range list {
		if known.Manifest != nil {
			kept++
		}
	}
	s.metrics.kept.Set(float64(kept))
	s.metrics.unusable.Set(float64(len(list) - kept))
	newest, created := s.findNewest(list), 0.0
	if newest == nil {
		newest = &snapshots.Manifest{}
	} else {
		created = float64(newest.CreatedAt.UnixNano()) / 1e9
	}
	s.metrics.newest.Set(created)
	s.metrics.seconds.Set(newest.Seconds)
	s.metrics.bytes.Set(float64(newest.Bytes()))
}

// State reports whether this process is creating a snapshot, and why its last one failed.
func (s *Snapshotter) State() (creating bool, failed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.creating, s.mu.failure
}

// List returns the newest snapshots in the segment store, newest first.
func (s *Snapshotter) List(ctx context.Context) (wire.Snapshots, error) {
	var out wire.Snapshots
	out.Creating, out.Error = s.State()
	list, err := s.o.Archive.List(ctx)
	if err != nil {
		return out, errors.Join(failure.ErrUnavailable, err)
	}
	list = list[:min(len(list), maxListed)]
	skipped := s.o.Versions.SkippedSnapshots()
	out.Snapshots = make([]wire.Snapshot, len(list))
	for i, known := range list {
		shown := wire.Snapshot{
			Name: known.Name, CreatedAt: wire.At(known.BegunAt), Problem: cmp.Or(known.Problem, skipped[known.Name]), Positions: []wire.Position{},
		}
		if m := known.Manifest; m != nil {
			shown.CreatedAt, shown.Creator, shown.Rows = wire.At(m.CreatedAt), m.Creator, m.Rows()
			shown.SizeBytes, shown.Segments, shown.Seconds = m.Bytes(), m.Segments, m.Seconds
			for _, p := range m.Positions {
				at := event.Position{Topic: event.TopicEvents, Partition: p.Partition, Offset: p.Next}
				shown.Positions = append(shown.Positions, wire.PositionOf(at))
			}
		}
		out.Snapshots[i] = shown
	}
	return out, nil
}

// Delete deletes a snapshot. The error wraps code.ErrNotFound.
func (s *Snapshotter) Delete(ctx context.Context, name string) error {
	if err := s.o.Archive.Delete(ctx, name); err != nil {
		return err
	}
	s.o.Logger.Info("snapshot deleted on request", "snapshot", name)
	s.updateMetrics(ctx)
	return nil
}
