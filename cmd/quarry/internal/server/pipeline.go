package server

import (
	"context"
	"fmt"
	"os"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/analyze/ctags"
	"github.com/quarrysearch/quarry/pipeline/indexer"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/reconcile"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/diskspace"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// readMargin is how long a record may take without progress, in addition to a fetch: the
// time of three git commands that read.
const readMargin = 3 * mirror.DefaultReadTimeout

// pipeline holds the parts that fetch, analyze and index.
type pipeline struct {
	mirrors *mirror.Mirrors
	// ctags is nil if it is not configured.
	ctags   *ctags.Pool
	indexer *indexer.Indexer
	worker  *worker.Worker
	// projectionLag makes the worker wait for the projections.
	projectionLag *worker.ProjectionLag
	// reconciler is nil if it is off.
	reconciler *reconcile.Reconciler
}

// openPipeline opens the mirrors and the parts that use them.
func (s *Server) openPipeline(ctx context.Context) error {
	if !s.o.Config.Has(config.RolePipeline) {
		return nil
	}
	temporary, err := emptyDirectory(s.o.Config.TempDir())
	if err != nil {
		return err
	}
	simulated := simulatedMachine{}
	if s.o.simulated != nil {
		simulated = *s.o.simulated
	}
	mirrors, err := openMirrors(ctx, s.o.Config, s.policy, s.codeHosts, simulated.execute, s.o.Logger, s.o.Registerer)
	if err != nil {
		return fmt.Errorf("open mirrors: %w", err)
	}
	s.addCloser(mirrors)
	p := &pipeline{mirrors: mirrors}
	if p.ctags, err = s.openCtags(ctx, temporary); err != nil {
		return fmt.Errorf("pipeline.ctags: %w", err)
	}
	p.indexer, err = indexer.New(indexer.Options{
		Log:     s.log,
		Mirrors: mirrors,
		Now:     boot.Now,
		Moved: func(id code.RepositoryID) {
			if p.reconciler != nil {
				p.reconciler.CheckSoon(id)
			}
		},
		Analyzer:     analyze.New(analyze.Options{MaxBlobBytes: int64(s.o.Config.Pipeline.MaxFileBytes), Ctags: p.ctags}),
		Segments:     s.unheldSegments(),
		TempDir:      temporary,
		MaxBlobBytes: int64(s.o.Config.Pipeline.MaxFileBytes),
		MaxFiles:     s.o.Config.Pipeline.MaxFiles,
		SegmentBytes: int64(s.o.Config.Pipeline.SegmentBytes),
		Slots:        s.buildSlots(),
		Tracer:       s.traces.Tracer(),
		Logger:       s.o.Logger,
		Registerer:   s.o.Registerer,
	})
	if err != nil {
		return err
	}
	p.projectionLag = &worker.ProjectionLag{Log: s.log, Applied: s.appliedOffsets}
	p.worker, err = worker.New(worker.Options{
		Log:        s.log,
		Handler:    spaceGate{p.indexer, s.disks, s.checkSegments},
		Group:      worker.DefaultGroup,
		Lanes:      s.o.Config.Pipeline.Concurrency,
		Long:       indexer.IsImport,
		Removes:    indexer.IsRemoval,
		Name:       p.indexer.Name,
		Stall:      s.o.Config.Git.FetchTimeout.Std() + readMargin,
		Pressure:   p.projectionLag,
		MaxAhead:   int64(s.o.Config.Pipeline.MaxAhead),
		Attempts:   s.o.Config.Pipeline.MaxAttempts,
		Patience:   s.o.Config.Pipeline.HostPatience.Std(),
		Drain:      (s.o.Config.Runtime.DrainTimeout.Std() - s.o.Config.ShutdownDelay()) / 3, // the rest is left to the requests before it and the projections after it
		Jitter:     simulated.jitter,
		Logger:     s.o.Logger,
		Registerer: s.o.Registerer,
	})
	if err != nil {
		return err
	}
	p.reconciler, err = s.newReconciler(mirrors)
	s.pipeline = p
	if s.versions != nil {
		s.verifier = s.newVerifier()
	}
	return err
}

// unheldSegments returns the segment store of the indexer, which deletes nothing while another process
// makes a backup. Projections have the store of the snapshots, which does the same.
func (s *Server) unheldSegments() segmentstore.Store {
	if !s.o.Config.SharesSegments() {
		return s.segments
	}
	return segmentstore.NewSharedHolds(s.segments, boot.Now).Guard(s.segments)
}

// openCtags starts ctags. It returns nil if ctags is not configured.
func (s *Server) openCtags(ctx context.Context, temporary string) (*ctags.Pool, error) {
	metrics := ctags.NewMetrics(s.o.Registerer)
	if s.o.Config.Pipeline.Ctags == "" {
		return nil, nil
	}
	pool, err := ctags.Open(ctx, ctags.Options{Program: s.o.Config.Pipeline.Ctags, TempDir: temporary, Timeout: s.o.ctagsTimeout,
		Metrics: metrics, Logger: s.o.Logger})
	if err != nil {
		return nil, err
	}
	s.addCloser(pool)
	return pool, nil
}

// openedCtags returns the ctags processes, or nil if there are none.
func (s *Server) openedCtags() *ctags.Pool {
	if s.pipeline == nil {
		return nil
	}
	return s.pipeline.ctags
}

// appliedOffsets returns the offsets that the projections have applied: those of this
// process, or those that another process has committed.
func (s *Server) appliedOffsets(ctx context.Context) ([]event.Offset, error) {
	if s.versions != nil {
		return projections.NextOffsets(s.versions.Checkpoints()), nil
	}
	return s.log.Committed(ctx, projections.Group, event.TopicEvents)
}

// spaceGate stops indexing while a disk that it writes to is almost full, or the segment
// store is not that of the log. Removals continue, because they free space.
type spaceGate struct {
	worker.Handler
	disks *diskspace.Guard
	// segments returns an error while the segment store is not usable.
	segments func() error
}

// Handle implements worker.Handler.
func (g spaceGate) Handle(ctx context.Context, records []event.Record) (int, error) {
	if !indexer.IsRemoval(records[0]) {
		if err := g.segments(); err != nil {
			return 1, fmt.Errorf("%w: %w", worker.ErrUnavailable, err)
		}
		if err := g.disks.CheckSpace(diskspace.DirectoryData, diskspace.DirectorySegments, diskspace.DirectoryProjections,
			diskspace.DirectoryMirrors); err != nil {
			return 1, fmt.Errorf("%w: %w", worker.ErrUnavailable, err)
		}
	}
	return g.Handler.Handle(ctx, records)
}

// newReconciler returns the reconciler, which looks for lost pushes, or nil if it is off.
func (s *Server) newReconciler(mirrors *mirror.Mirrors) (*reconcile.Reconciler, error) {
	c := s.o.Config.Pipeline
	if c.ReconcileInterval == 0 {
		return nil, nil
	}
	return reconcile.New(reconcile.Options{
		Log: tracedLog{s.log, s.traces.Tracer(), "reconcile"}, Remotes: mirrors, Workers: worker.DefaultGroup, Now: boot.Now,
		Interval: c.ReconcileInterval.Std(), Grace: c.ReconcileGrace.Std(), Concurrency: c.ReconcileConcurrency,
		Audit: s.noteChange, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}

// emptyDirectory creates a directory, after it removes anything that a killed process
// left there.
func emptyDirectory(dir string) (string, error) {
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// addActors adds the actors of the pipeline.
func (p *pipeline) addActors(group *boot.Group) {
	if p.reconciler != nil {
		group.Add("reconciler", p.reconciler.Run)
	}
	group.Add("mirrors", p.mirrors.Run)
	group.Add("worker", p.worker.Run)
}
