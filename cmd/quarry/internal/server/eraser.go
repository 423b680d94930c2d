package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// eraseInterval is how often the eraser looks for what it can do.
	eraseInterval = 500 * time.Millisecond
	// eraseReaderPatience bounds the wait for searches that began before an erasure: a
	// snapshot of theirs keeps deleted rows.
	eraseReaderTimeout = time.Minute
)

// eraser carries out the erasures requested in the log, in the live version of the
// projections (docs/adr/0021-erasure.md). Each step may be repeated: an interrupted
// erasure begins again.
type eraser struct {
	versions *versions
	index    *index
	mu       struct {
		sync.Mutex
		// waits says what the erasures that are not done wait for.
		waits map[event.Position]api.ErasureWait
	}
	// failures are the last errors of erasures that are not done, to log each once.
	failures map[event.Position]string
}

func newEraser(v *versions, i *index) *eraser {
	e := &eraser{versions: v, index: i, failures: map[event.Position]string{}}
	e.mu.waits = map[event.Position]api.ErasureWait{}
	return e
}

// Run works until ctx ends.
func (e *eraser) Run(ctx context.Context) error {
	select {
	case <-e.index.runner.CaughtUp():
	case <-ctx.Done():
		return nil
	}
	tick := time.NewTicker(eraseInterval)
	defer tick.Stop()
	for {
		for _, asked := range e.index.places.Erasures() {
			if asked.EndedAt.IsZero() {
				e.processErasure(ctx, asked)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// processErasure does what can be done for an erasure now.
func (e *eraser) processErasure(ctx context.Context, asked places.Erasure) {
	wait, err := e.advanceErasure(ctx, &asked)
	if ctx.Err() != nil {
		return
	}
	if err == nil && wait == "" {
		asked.EndedAt = utcNow()
		err = e.index.runner.Do(ctx, asked.At.Partition, func(b *store.Batch) error { return e.index.places.FinishErasure(b, asked) })
	}
	e.mu.Lock()
	was := e.mu.waits[asked.At]
	e.mu.waits[asked.At] = wait
	if err == nil && wait == "" {
		delete(e.mu.waits, asked.At)
	}
	e.mu.Unlock()
	log := e.versions.o.Logger.With("repository_id", asked.Repository, "commit", string(asked.Commit), "path", asked.Path, "position", asked.At.String())
	if err != nil {
		if e.failures[asked.At] != err.Error() {
			log.Warn("cannot erase text now, trying again", "error", err)
		}
		e.failures[asked.At] = err.Error()
		return
	}
	delete(e.failures, asked.At)
	switch {
	case wait != "" && wait != was:
		log.Info("an erasure waits", "for", string(wait))
	case wait == "" && asked.Error != "":
		log.Error("an erasure was refused", "error", asked.Error)
	case wait == "":
		log.Info("text was erased", "duration_ms", asked.EndedAt.Sub(asked.RequestedAt).Milliseconds(),
			"segments", asked.Proof.Segments, "unnamed_segments", asked.Proof.Unnamed, "held_segments", asked.Proof.Held)
	}
}

// advanceErasure returns what an erasure waits for, nothing when it is done.
func (e *eraser) advanceErasure(ctx context.Context, asked *places.Erasure) (api.ErasureWait, error) {
	done, err := e.index.applied.appliedOffset(ctx, asked.At.Partition)
	if err != nil || done <= asked.At.Offset {
		return api.ErasureWaitsForWorkers, err
	}
	if e.versions.failureReason != nil {
		if reason, given := e.versions.failureReason(asked.At); given {
			asked.Error = reason
			return "", nil
		}
	}
	if e.index.places.ErasureSegments(*asked) > 0 {
		return api.ErasureWaitsForSegments, nil
	}
	if e.versions.replays.dropPrevious() != nil {
		return api.ErasureWaitsForReplay, nil
	}
	proof := &places.Proof{}
	if proof.Quarantined, err = e.versions.emptyQuarantine(); err != nil {
		return "", err
	}
	if err := e.compactRows(ctx); err != nil {
		return "", err
	}
	if proof.MirrorChecked, err = e.eraseMirror(ctx, asked); err != nil {
		return "", err
	}
	asked.Proof = proof
	return "", e.collectProof(ctx, asked)
}

// compactRows has the rows of the projections written again without deleted ones.
func (e *eraser) compactRows(ctx context.Context) error {
	for _, c := range e.index.runner.Checkpoints() {
		err := e.index.runner.Do(ctx, c.Partition, func(*store.Batch) error { e.index.places.RenewView(c.Partition); return nil })
		if err != nil {
			return err
		}
	}
	ended := time.Now().Add(eraseReaderTimeout)
	tick := time.NewTicker(eraseInterval)
	defer tick.Stop()
	for e.index.store.Snapshots() > len(e.index.runner.Checkpoints()) && time.Now().Before(ended) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return e.index.store.CompactRows(ctx)
}

// eraseMirror removes from the mirrors of this process what a worker elsewhere may have
// removed from its own. It reports whether there are mirrors here and the erased text is
// in none.
func (e *eraser) eraseMirror(ctx context.Context, asked *places.Erasure) (bool, error) {
	mirrors := e.versions.mirrors()
	if mirrors == nil {
		return false, nil
	}
	m := mirrors.Mirror(asked.Repository)
	if asked.Commit == "" && asked.Path == "" {
		if _, again := e.index.catalog.Snapshot().ByID(asked.Repository); again {
			return false, nil // it was registered after the erasure
		}
		return true, m.Remove(ctx)
	}
	var err error
	if asked.Path != "" {
		err = m.ErasePath(ctx, asked.Path)
	} else {
		err = m.EraseCommit(ctx, asked.Commit)
	}
	if err != nil {
		asked.Error = fmt.Sprintf("the mirror still has the text: %v", err)
		return false, nil
	}
	return true, nil
}

// collectProof checks the remaining files after an erasure.
func (e *eraser) collectProof(ctx context.Context, asked *places.Erasure) error {
	named, err := e.index.places.NamedSegments()
	if err != nil {
		return err
	}
	for object, err := range e.versions.objects.List(ctx) {
		if err != nil {
			return err
		}
		id, isSegment := segmentstore.ParseSegmentName(object.Name)
		if !isSegment {
			continue
		}
		asked.Proof.Segments++
		asked.Proof.SegmentBytes += object.SizeBytes
		if !named[id] && object.ModTime.Before(asked.RequestedAt) {
			asked.Proof.Unnamed++
		}
	}
	asked.Proof.Held, err = e.index.places.CountHeldSegments(asked.At.Partition)
	return err
}

// waitReason returns what an erasure waits for.
func (e *eraser) waitReason(at event.Position) api.ErasureWait {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.waits[at]
}

// erasures implements api.Erasures.
type erasures struct{ s *Server }

var _ api.Erasures = erasures{}

// Erase implements api.Erasures.
func (x erasures) Erase(ctx context.Context, r api.ErasureRequest) (api.Erasure, error) {
	if err := x.checkErasable(ctx, r); err != nil {
		return api.Erasure{}, err
	}
	shared, err := x.countShared(r)
	if err != nil {
		return api.Erasure{}, err
	}
	var ev event.Event = &event.RepositoryRemoved{Repository: r.Repository, Reason: "erased by the API", Erase: true, At: utcNow().UTC()}
	if !r.IsRepository() {
		ev = &event.ErasureRequested{Repository: r.Repository, Commit: r.Commit, Path: r.Path, At: utcNow().UTC()}
	}
	at, err := x.s.registrar.appendEvent(ctx, ev)
	if err != nil {
		return api.Erasure{}, err
	}
	return api.Erasure{
		At: at, Repository: r.Repository, Commit: r.Commit, Path: r.Path, State: api.ErasureWorking, WaitsFor: api.ErasureWaitsForWorkers,
		SharedFiles: shared, RequestedAt: utcNow(),
	}, nil
}

// checkErasable returns why nothing can be erased in the current state.
func (x erasures) checkErasable(ctx context.Context, r api.ErasureRequest) error {
	switch asOf := x.s.versions.asOf(); {
	case asOf != "":
		return fmt.Errorf("%w: the index shows %s, and nothing is deleted meanwhile; return to the present first: quarry replay --rollback", api.ErrConflict, asOf)
	case x.s.compactor == nil:
		return fmt.Errorf("%w: segments are not rewritten, because pipeline.mergeInterval is 0; set it, restart the server, and erase again", api.ErrConflict)
	case r.IsRepository() || x.s.pipeline == nil:
		return nil
	}
	m := x.s.pipeline.mirrors.Mirror(r.Repository)
	if r.Path != "" {
		commit, err := m.ReachesPath(ctx, r.Path)
		if err == nil && commit != "" {
			err = fmt.Errorf("%w: a branch or tag leads to commit %s, which has the path; rewrite the history at the code host (git filter-repo --invert-paths), wait until it is indexed or refresh the repository, and erase the path again", api.ErrConflict, commit)
		}
		return sourceError(err)
	}
	has, err := m.HasCommit(ctx, r.Commit)
	if err != nil || !has {
		return sourceError(err)
	}
	reach, err := m.Reach(ctx, r.Commit)
	if err == nil && reach != mirror.ReachNone {
		err = fmt.Errorf("%w: a branch or tag leads to commit %s; rewrite or delete it at the code host, wait until the push is indexed or refresh the repository, and erase the commit again", api.ErrConflict, r.Commit)
	}
	return err
}

// countShared returns how many documents of the repository others have as well.
func (x erasures) countShared(r api.ErasureRequest) (int, error) {
	if !r.IsRepository() {
		return 0, nil
	}
	i := x.s.versions.acquireLive()
	defer i.refCount.release()
	v := i.places.Acquire()
	defer v.Release()
	n, err := v.SharedDocuments(r.Repository)
	if errors.Is(err, code.ErrNotFound) {
		return 0, nil // not indexed yet
	}
	return n, err
}

// List implements api.Erasures.
func (x erasures) List(context.Context) ([]api.Erasure, error) {
	i := x.s.versions.acquireLive()
	defer i.refCount.release()
	list := i.places.Erasures()
	out := make([]api.Erasure, len(list))
	for n, from := range list {
		e := api.Erasure{At: from.At, Repository: from.Repository, Commit: from.Commit, Path: from.Path, Error: from.Error, RequestedAt: from.RequestedAt, EndedAt: from.EndedAt}
		switch {
		case from.EndedAt.IsZero():
			e.State = api.ErasureWorking
			if i.eraser != nil {
				e.WaitsFor = i.eraser.waitReason(from.At)
			}
		case from.Error != "":
			e.State = api.ErasureFailed
		default:
			e.State = api.ErasureDone
		}
		if p := from.Proof; p != nil && e.State == api.ErasureDone {
			e.Proof = &api.ErasureProof{
				Segments: p.Segments, SegmentBytes: p.SegmentBytes, UnnamedSegments: p.Unnamed, HeldSegments: p.Held,
				QuarantinedSegments: p.Quarantined, MirrorChecked: p.MirrorChecked,
			}
		}
		out[len(list)-1-n] = e // the newest first
	}
	return out, nil
}
