package indexer

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// MaxJobs bounds the repositories whose last job is remembered.
const MaxJobs = 4096

// Status describes the current or last work of an Indexer on a repository.
type Status struct {
	// Running is set while a record of the repository is being handled.
	Running bool
	// Files and Bytes count the progress toward FilesTotal and BytesTotal, which are 0
	// until known.
	Files, FilesTotal int64
	Bytes, BytesTotal int64
	// Code is the kind of failure of the last attempt, at FailedAt, and Detail its text
	// without credentials, for owners. Both are empty if the attempt succeeded.
	Code     failure.Code
	Detail   string
	FailedAt time.Time
}

// progressLogInterval is the time between two lines of the log about the progress of a job.
// Jobs that end earlier have none.
const progressLogInterval = time.Minute

// job is one record of a repository in progress.
type job struct {
	// report tells the worker that there is progress.
	report func()
	// logProgress is called at most once in progressLogInterval, next at nextLog, in Unix
	// nanoseconds of the clock now.
	logProgress func()
	now         func() time.Time
	nextLog     atomic.Int64
	// skipUnreadable skips blobs that cannot be read because the repository itself lacks
	// them. Otherwise they count as damage of the mirror.
	skipUnreadable                       bool
	files, filesTotal, bytes, bytesTotal atomic.Int64
}

// planReads adds to the totals; a record may lead to several refs.
func (j *job) planReads(files int, bytes int64) {
	j.filesTotal.Add(int64(files))
	j.bytesTotal.Add(bytes)
	j.report()
}

func (j *job) addProgress(files, bytes int64) {
	j.files.Add(files)
	j.bytes.Add(bytes)
	j.report()
	now, next := j.now(), j.nextLog.Load()
	if now.UnixNano() >= next && j.nextLog.CompareAndSwap(next, now.Add(progressLogInterval).UnixNano()) {
		j.logProgress()
	}
}

// jobs remembers the last job of each repository; the oldest is forgotten first.
type jobs struct {
	mu struct {
		sync.Mutex
		entries map[code.RepositoryID]*jobEntry
		order   []code.RepositoryID // in order of first appearance
	}
}

type jobEntry struct {
	job      *job
	running  bool
	code     failure.Code
	detail   string
	failedAt time.Time
}

func (s *jobs) beginJob(id code.RepositoryID, j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.entries == nil {
		s.mu.entries = map[code.RepositoryID]*jobEntry{}
	}
	e := s.mu.entries[id]
	if e == nil {
		e = &jobEntry{}
		s.mu.entries[id] = e
		s.mu.order = append(s.mu.order, id)
		if len(s.mu.order) > MaxJobs {
			delete(s.mu.entries, s.mu.order[0])
			s.mu.order = s.mu.order[1:]
		}
	}
	j.nextLog.Store(j.now().Add(progressLogInterval).UnixNano())
	e.job, e.running = j, true
}

// forgetRepository drops the status of a removed repository.
func (s *jobs) forgetRepository(id code.RepositoryID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.entries[id] != nil {
		delete(s.mu.entries, id)
		s.mu.order = slices.DeleteFunc(s.mu.order, func(known code.RepositoryID) bool { return known == id })
	}
}

func (s *jobs) endJob(id code.RepositoryID, j *job, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.mu.entries[id]
	if e == nil || e.job != j {
		return
	}
	e.running, e.code, e.detail, e.failedAt = false, "", "", time.Time{}
	if err != nil {
		e.code, e.detail, e.failedAt = failure.CodeOf(err), failure.Detail(err), now
	}
}

// Status returns the status of the work on a repository; ok is false if it is unknown.
func (x *Indexer) Status(id code.RepositoryID) (s Status, ok bool) {
	x.jobs.mu.Lock()
	defer x.jobs.mu.Unlock()
	e := x.jobs.mu.entries[id]
	if e == nil {
		return s, false
	}
	return e.status(), true
}

// Running returns the status of every repository in progress.
func (x *Indexer) Running() map[code.RepositoryID]Status {
	x.jobs.mu.Lock()
	defer x.jobs.mu.Unlock()
	out := map[code.RepositoryID]Status{}
	for id, e := range x.jobs.mu.entries {
		if e.running {
			out[id] = e.status()
		}
	}
	return out
}

func (e *jobEntry) status() Status {
	return Status{
		Running: e.running, Files: e.job.files.Load(), FilesTotal: e.job.filesTotal.Load(),
		Bytes: e.job.bytes.Load(), BytesTotal: e.job.bytesTotal.Load(),
		Code: e.code, Detail: e.detail, FailedAt: e.failedAt,
	}
}
