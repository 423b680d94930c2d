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

// Status is what an Indexer did last, or does now, for a repository.
type Status struct {
	// Running says that a record of the repository is being handled.
	Running bool
	// Files and Bytes are read of FilesTotal and BytesTotal; totals are 0 until
	// known.
	Files, FilesTotal int64
	Bytes, BytesTotal int64
	// Code is the kind of the failure of the last attempt, at FailedAt, and Detail
	// its text without credentials, for owners; empty if it succeeded.
	Code     failure.Code
	Detail   string
	FailedAt time.Time
}

// A job is one record of a repository being handled.
type job struct {
	// report says to the worker that the handling goes on.
	report func()
	// skipUnreadable leaves out blobs that cannot be read because the repository
	// itself lacks them. Without it they count as damage of the mirror.
	skipUnreadable                       bool
	files, filesTotal, bytes, bytesTotal atomic.Int64
}

// planReads adds what is to be read; a record may lead to several refs.
func (j *job) planReads(files int, bytes int64) {
	j.filesTotal.Add(int64(files))
	j.bytesTotal.Add(bytes)
	j.report()
}

func (j *job) addProgress(files, bytes int64) {
	j.files.Add(files)
	j.bytes.Add(bytes)
	j.report()
}

// jobs remembers the last job of each repository, the oldest forgotten first.
type jobs struct {
	mu struct {
		sync.Mutex
		entries map[code.RepositoryID]*jobEntry
		order   []code.RepositoryID // of first appearance
	}
}

type jobEntry struct {
	job      *job
	running  bool
	code     failure.Code
	detail   string
	failedAt time.Time
}

func (s *jobs) beginJob(id code.RepositoryID, report func()) *job {
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
	e.job, e.running = &job{report: report}, true
	return e.job
}

// forgetRepository drops what is known of a repository that was removed.
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

// Status returns what is known of the work on a repository; ok is false if
// nothing is.
func (x *Indexer) Status(id code.RepositoryID) (s Status, ok bool) {
	x.jobs.mu.Lock()
	defer x.jobs.mu.Unlock()
	e := x.jobs.mu.entries[id]
	if e == nil {
		return s, false
	}
	return e.status(), true
}

// Running returns the status of every repository that is being worked on.
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
