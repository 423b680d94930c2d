package server

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/indexer"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/reconcile"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// workerGroup is the consumer group of the workers of an installation.
const workerGroup = "quarry-workers"

// readMargin is how long a record may take without progress apart from a fetch:
// three git commands that read.
const readMargin = 3 * mirror.DefaultReadTimeout

// pipeline is what fetches, analyses and builds.
type pipeline struct {
	mirrors *mirror.Mirrors
	indexer *indexer.Indexer
	worker  *worker.Worker
	// projected is what the worker waits for.
	projectionLag *projectionLag
	// reconciler is nil if it is off.
	reconciler *reconcile.Reconciler
}

// openPipeline opens the mirrors and what works on them.
func (s *Server) openPipeline(ctx context.Context) error {
	if !s.o.Config.Has(rolePipeline) {
		return nil
	}
	temporary, err := emptyDirectory(s.o.Config.TempDir())
	if err != nil {
		return err
	}
	standIns := simulatedMachine{}
	if s.o.simulated != nil {
		standIns = *s.o.simulated
	}
	mirrors, err := openMirrors(ctx, s.o.Config, s.policy, standIns.execute, s.o.Logger, s.o.Registerer)
	if err != nil {
		return fmt.Errorf("open mirrors: %w", err)
	}
	s.addCloser(mirrors)
	p := &pipeline{mirrors: mirrors}
	p.indexer, err = indexer.New(indexer.Options{
		Log:          s.log,
		Mirrors:      mirrors,
		Now:          boot.Now,
		Analyzer:     analyze.New(analyze.Options{MaxBlobBytes: int64(s.o.Config.Pipeline.MaxFileBytes)}),
		Segments:     s.segments,
		TempDir:      temporary,
		MaxBlobBytes: int64(s.o.Config.Pipeline.MaxFileBytes),
		MaxFiles:     s.o.Config.Pipeline.MaxFiles,
		SegmentBytes: int64(s.o.Config.Pipeline.SegmentBytes),
		Slots:        s.buildSlots(),
		Logger:       s.o.Logger,
		Registerer:   s.o.Registerer,
	})
	if err != nil {
		return err
	}
	p.projectionLag = &projectionLag{log: s.log}
	if s.versions != nil {
		p.projectionLag.checkpoints = s.versions.reportedCheckpoints
	}
	p.worker, err = worker.New(worker.Options{
		Log:        s.log,
		Handler:    spaceGate{p.indexer, s.disks},
		Group:      workerGroup,
		Lanes:      s.o.Config.Pipeline.Concurrency,
		Long:       indexer.IsImport,
		Removes:    indexer.IsRemoval,
		Name:       p.indexer.Name,
		Stall:      s.o.Config.Git.FetchTimeout.Std() + readMargin,
		Pressure:   p.projectionLag,
		MaxAhead:   int64(s.o.Config.Pipeline.MaxAhead),
		Attempts:   s.o.Config.Pipeline.MaxAttempts,
		Patience:   s.o.Config.Pipeline.HostPatience.Std(),
		Drain:      s.o.Config.Runtime.DrainTimeout.Std() / 3, // the requests before it and the projections after it take theirs
		Jitter:     standIns.jitter,
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

// newReconciler returns what looks for lost pushes, nil if the configuration
// says never.
func (s *Server) newReconciler(mirrors *mirror.Mirrors) (*reconcile.Reconciler, error) {
	c := s.o.Config.Pipeline
	if c.ReconcileInterval == 0 {
		return nil, nil
	}
	return reconcile.New(reconcile.Options{
		Log: s.log, Remotes: mirrors, Workers: workerGroup, Now: boot.Now,
		Interval: c.ReconcileInterval.Std(), Grace: c.ReconcileGrace.Std(), Concurrency: c.ReconcileConcurrency,
		Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}

// emptyDirectory returns a directory without what a process that was killed
// left in it.
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

// pipelineStatus says what the pipeline of this process does, or did last, for a
// repository.
func (s *Server) pipelineStatus(id code.RepositoryID) (pipelineWork, bool) {
	if s.pipeline == nil {
		return pipelineWork{}, false
	}
	w := pipelineWork{reconciliation: s.pipeline.lastReconciliation(id), selection: s.pipeline.refSelection(id)}
	status, ok := s.pipeline.indexer.Status(id)
	if !ok {
		return w, w.reconciliation != nil || w.selection != nil
	}
	w.lastFailure = failureOf(status.Code, status.Detail, status.FailedAt)
	if status.Running {
		w.progress = &api.Progress{
			Files: int(status.Files), FilesTotal: int(status.FilesTotal), Bytes: status.Bytes, BytesTotal: status.BytesTotal,
		}
	}
	return w, true
}

// lastReconciliation says what the last look at a repository for lost pushes found; nil if
// this process does not look at it.
func (p *pipeline) lastReconciliation(id code.RepositoryID) *api.Reconciliation {
	if p.reconciler == nil {
		return nil
	}
	status, ok := p.reconciler.Status(id)
	if !ok {
		return nil
	}
	return &api.Reconciliation{
		LookedAt: status.LookedAt, Result: status.Result, NextAt: status.NextAt, Failed: failureOf(status.Code, status.Detail, status.LookedAt),
	}
}

// failureOf returns what the API shows of a failure, nil for none.
func failureOf(c failure.Code, detail string, at time.Time) *api.Failure {
	if c == "" {
		return nil
	}
	return &api.Failure{Code: c, Detail: detail, At: at}
}
