package erasure

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// eraseInterval is the interval at which the eraser looks for work.
	eraseInterval = 500 * time.Millisecond
	// eraseReaderTimeout bounds the wait for searches that began before an erasure,
	// because their snapshots keep deleted rows.
	eraseReaderTimeout = time.Minute
)

// Options are the options of New. All are required.
type Options struct {
	Catalog *catalog.Catalog
	Places  *places.Places
	Runner  *projections.Runner
	Rows    *store.Store
	Fence   *projections.Fence
	Objects segmentstore.Store
	// FailureReason returns the reason if the workers gave up an event.
	FailureReason func(event.Position) (reason string, given bool)
	// DropPrevious removes the other versions of the projections, which contain the text.
	// It fails while one is being built.
	DropPrevious func() error
	// DropSnapshots deletes the snapshots that have not applied the record at a position.
	DropSnapshots func(ctx context.Context, at event.Position) error
	// EmptyQuarantine removes the damaged objects of the segment store.
	EmptyQuarantine func(ctx context.Context) (int, error)
	// Partial reports that the projections have a share of the partitions: most objects of the
	// segment store are those of other shares, and the proof counts none as unnamed.
	Partial bool
	// Mirror returns the git mirror of a repository, or nil if this process has none.
	Mirror func(code.RepositoryID) Mirror
	Logger *slog.Logger
}

// Mirror is the git mirror of a repository. mirror.Mirror implements it.
type Mirror interface {
	Remove(ctx context.Context) error
	ErasePath(ctx context.Context, path string) error
	EraseCommit(ctx context.Context, commit code.CommitID) error
}

// Eraser carries out the erasures requested in the log, in the live version of the
// projections (docs/adr/0021-erasure.md). Each step can be repeated: an interrupted
// erasure starts over.
type Eraser struct {
	Options
	mu struct {
		sync.Mutex
		// waits holds what each pending erasure is waiting for.
		waits map[event.Position]erasure.Wait
	}
	// failures holds the last error of each pending erasure, so that each error is logged
	// once.
	failures map[event.Position]string
}

// New returns an Eraser. Run carries out the erasures that the projections list.
func New(o Options) *Eraser {
	e := &Eraser{Options: o, failures: map[event.Position]string{}}
	e.mu.waits = map[event.Position]erasure.Wait{}
	return e
}

// Run works until ctx ends.
func (e *Eraser) Run(ctx context.Context) error {
	select {
	case <-e.Runner.CaughtUp():
	case <-ctx.Done():
		return nil
	}
	tick := time.NewTicker(eraseInterval)
	defer tick.Stop()
	for {
		for _, asked := range e.Places.Erasures() {
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

// processErasure advances an erasure as far as possible now.
func (e *Eraser) processErasure(ctx context.Context, asked erasure.Erasure) {
	wait, err := e.advanceErasure(ctx, &asked)
	if ctx.Err() != nil {
		return
	}
	if err == nil && wait == "" {
		asked.EndedAt = time.Now().UTC()
		err = e.Runner.Do(ctx, asked.At.Partition, func(b *store.Batch) error { return e.Places.FinishErasure(b, asked) })
	}
	e.mu.Lock()
	was := e.mu.waits[asked.At]
	e.mu.waits[asked.At] = wait
	if err == nil && wait == "" {
		delete(e.mu.waits, asked.At)
	}
	e.mu.Unlock()
	log := e.Logger.With("repository_id", asked.Repository, "commit", string(asked.Commit), "path", asked.Path, "position", asked.At.String())
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
		log.Info("erasure is waiting", "for", string(wait))
	case wait == "" && asked.Error != "":
		log.Error("erasure refused", "error", asked.Error)
	case wait == "":
		log.Info("text was erased", "duration_ms", asked.EndedAt.Sub(asked.RequestedAt).Milliseconds(),
			"segments", asked.Proof.Segments, "unnamed_segments", asked.Proof.Unnamed, "held_segments", asked.Proof.Held)
	}
}

// advanceErasure returns what an erasure is waiting for. The result is empty when the
// erasure is done.
func (e *Eraser) advanceErasure(ctx context.Context, asked *erasure.Erasure) (erasure.Wait, error) {
	done, err := e.Fence.AppliedOffset(ctx, asked.At.Partition)
	if err != nil || done <= asked.At.Offset {
		return erasure.WaitForWorkers, err
	}
	if reason, given := e.FailureReason(asked.At); given {
		asked.Error = reason
		return "", nil
	}
	if e.Places.ErasureSegments(*asked) > 0 {
		return erasure.WaitForSegments, nil
	}
	if e.DropPrevious() != nil {
		return erasure.WaitForReplay, nil
	}
	if err := e.DropSnapshots(ctx, asked.At); err != nil {
		return "", err
	}
	if err := e.deletePreciseIndexes(ctx, asked.Repository); err != nil {
		return "", err
	}
	proof := &erasure.Proof{}
	if proof.Quarantined, err = e.EmptyQuarantine(ctx); err != nil {
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

// deletePreciseIndexes deletes the precise indexes of a repository that the catalog no
// longer names. Their texts may quote any file.
func (e *Eraser) deletePreciseIndexes(ctx context.Context, id code.RepositoryID) error {
	named := map[string]bool{}
	if r, ok := e.Catalog.Snapshot().ByID(id); ok {
		for _, u := range r.ScipUploads {
			named[u.Object] = true
		}
	}
	for object, err := range e.Objects.List(ctx) {
		if err != nil {
			return err
		}
		of, ok := segmentstore.ParseScipName(object.Name)
		if !ok || of != id || named[object.Name] {
			continue
		}
		if err := e.Objects.Delete(ctx, object.Name); err != nil {
			return err
		}
	}
	return nil
}

// compactRows rewrites the rows of the projections without deleted ones.
func (e *Eraser) compactRows(ctx context.Context) error {
	for _, c := range e.Runner.Checkpoints() {
		err := e.Runner.Do(ctx, c.Partition, func(*store.Batch) error { e.Places.RenewView(c.Partition); return nil })
		if err != nil {
			return err
		}
	}
	ended := time.Now().Add(eraseReaderTimeout)
	tick := time.NewTicker(eraseInterval)
	defer tick.Stop()
	for e.Rows.Snapshots() > len(e.Runner.Checkpoints()) && time.Now().Before(ended) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return e.Rows.CompactRows(ctx)
}

// eraseMirror removes the text from the mirrors of this process; a worker of another
// process may have removed it only from its own. It reports whether this process has
// mirrors and none of them contains the text.
func (e *Eraser) eraseMirror(ctx context.Context, asked *erasure.Erasure) (bool, error) {
	m := e.Mirror(asked.Repository)
	if m == nil {
		return false, nil
	}
	if asked.Commit == "" && asked.Path == "" {
		if _, again := e.Catalog.Snapshot().ByID(asked.Repository); again {
			return false, nil // the repository was registered after the erasure
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
func (e *Eraser) collectProof(ctx context.Context, asked *erasure.Erasure) error {
	named, err := e.Places.NamedSegments()
	if err != nil {
		return err
	}
	for object, err := range e.Objects.List(ctx) {
		if err != nil {
			return err
		}
		id, isSegment := segmentstore.ParseSegmentName(object.Name)
		if !isSegment {
			continue
		}
		asked.Proof.Segments++
		asked.Proof.SegmentBytes += object.SizeBytes
		if !named[id] && !e.Partial && object.ModTime.Before(asked.RequestedAt) {
			asked.Proof.Unnamed++
		}
	}
	asked.Proof.Held, err = e.Places.CountHeldSegments(asked.At.Partition)
	return err
}

// WaitReason returns what an erasure is waiting for.
func (e *Eraser) WaitReason(at event.Position) erasure.Wait {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.waits[at]
}
