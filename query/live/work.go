package live

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Work is the progress of indexing a repository.
type Work struct {
	Repository code.RepositoryID
	// State is the state of a repository: registered, importing, indexed, failed.
	State string
	// Running is set if the counts are of unfinished work; totals are 0 until known.
	Running           bool
	Files, FilesTotal int
	Bytes, BytesTotal int64
	// Code is the reason why the last attempt failed; empty if it did not.
	Code failure.Code
}

const (
	// workInterval is how often the work is sampled while there are readers.
	workInterval = time.Second
	// maxWork bounds the repositories whose work is compared with the previous sample.
	maxWork = 1024
)

// watchWork adds a notice for work that has progressed or ended.
func (f *Feed) watchWork(ctx context.Context) error {
	tick := time.NewTicker(workInterval)
	defer tick.Stop()
	last := map[code.RepositoryID]Work{}
	for {
		select {
		case <-tick.C:
			if f.hasReaders() {
				last = f.compareWork(last)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// compareWork adds notices for the differences from last, and returns the unfinished
// work.
func (f *Feed) compareWork(last map[code.RepositoryID]Work) map[code.RepositoryID]Work {
	now := map[code.RepositoryID]Work{}
	for _, w := range f.o.Running() {
		if len(now) == maxWork {
			break
		}
		now[w.Repository] = w
		if before, known := last[w.Repository]; !known || before != w {
			f.addWork(w)
		}
	}
	for id := range last {
		if _, runs := now[id]; runs {
			continue
		}
		if w, ok := f.o.WorkOn(id); ok {
			f.addWork(w)
		}
	}
	return now
}

func (f *Feed) addWork(w Work) {
	if r, ok := f.o.Repository(w.Repository); ok {
		f.add(-1, 0, &Notice{Kind: KindWork, At: f.o.Now().UTC(), Repository: r, Work: w, partition: -1})
	}
}
