package indexer

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// maxImportWait bounds how long a first import waits for that of a relative. After that,
// it reads all blobs itself, and the next merge drops the duplicates.
const maxImportWait = 30 * time.Minute

// familyLock identifies a lock of a family: only one member at a time may announce, and
// only one may import its first documents into a partition.
type familyLock struct {
	root      code.CommitID
	partition int32 // a partition, or announcing
}

// announcing identifies the lock that a member holds while it appends, in any partition.
const announcing = -1

// lock returns the lock of a family as a channel. A send acquires it.
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

// beginFirstImport waits until no relative imports its first documents into the
// partition, and then keeps relatives from doing so until done is called. Clones that are
// registered at the same time thus find the announcements of the first. It does nothing
// if the repository is already indexed or has no family.
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
		h.x.o.Logger.Info("waiting for the first import of a related repository", "repository", nameOf(h.m), "repository_id", h.repo)
	}
	for {
		select {
		case lock <- struct{}{}:
			return release, nil
		case <-progress.C:
			h.job.report() // the record is not stuck
		case <-limit.C:
			return func() {}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// beginAnnouncement waits until no relative of a repository announces, and keeps
// relatives from announcing until done is called. It does nothing for a repository
// without a family.
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
