package indexer

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// maxImportWait bounds how long a first import waits for that of a relative. Then it
// reads everything itself, and the next merge drops what both have.
const maxImportWait = 30 * time.Minute

// A familyLock is what one member of a family does at a time: announce, or bring its first
// documents to a partition.
type familyLock struct {
	root      code.CommitID
	partition int32 // announcing if negative
}

// announcing is held by the member that appends, in whichever partition.
const announcing = -1

// lock returns the lock of a family, which is taken by a send.
func (f *families) lock(l familyLock) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	lock := f.mu.locks[l]
	if lock == nil {
		lock = make(chan struct{}, 1)
		f.mu.locks[l] = lock
	}
	return lock
}

// beginFirstImport waits until no relative brings its first documents to the partition,
// and keeps others from it until done is called: clones that are registered at the same
// moment find what the first of them has announced. It does nothing for a repository that
// is indexed already, or that has no family.
func (h *indexRun) beginFirstImport(ctx context.Context) (done func(), err error) {
	if h.root == "" || len(h.indexed) > 0 {
		return func() {}, nil
	}
	lock := h.x.families.lock(familyLock{h.root, h.partition})
	progress, limit := time.NewTicker(time.Second), time.NewTimer(maxImportWait)
	defer progress.Stop()
	defer limit.Stop()
	release := func() { <-lock }
	select {
	case lock <- struct{}{}:
		return release, nil
	default:
		h.x.o.Logger.Info("waiting for the first import of a repository of the same family", "repository", nameOf(h.m), "repository_id", h.repo)
	}
	for {
		select {
		case lock <- struct{}{}:
			return release, nil
		case <-progress.C:
			h.job.report() // it is not stuck
		case <-limit.C:
			return func() {}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// beginAnnouncement waits until no relative of a repository announces anything, and
// keeps them from it until done is called. It does nothing for one without a family.
func (x *Indexer) beginAnnouncement(ctx context.Context, root code.CommitID, repo code.RepositoryID) (done func(), err error) {
	if root == "" {
		return func() {}, nil
	}
	lock := x.families.lock(familyLock{root, announcing})
	select {
	case lock <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	x.noteChange(repo)
	return func() {
		x.noteChange(repo)
		<-lock
	}, nil
}
