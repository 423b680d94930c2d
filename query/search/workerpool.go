package search

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/search/internal/admission"
)

// singleWorkerTime is how long a search runs on one processor before it starts more
// workers. Most searches end before that, and concurrent ones share the machine better.
const singleWorkerTime = 300 * time.Microsecond

// errFinished cancels the context of a search that has found enough.
var errFinished = errors.New("the search has what it needs")

// runPool runs phases on a pool of workers until they end, ctx ends or the time limit is over.
// The workers use the ticket of the search, and as many helpers as are free.
func (n *searchRun) runPool(ctx context.Context, limit time.Duration, ticket *admission.Ticket, helpers chan struct{}, phases func(*workerPool)) error {
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	working, finish := context.WithCancelCause(timed)
	n.cancelWork = func() { finish(errFinished) }
	defer n.cancelWork()
	defer context.AfterFunc(timed, func() { n.halted.Store(true) })()
	if timed.Err() != nil {
		n.halted.Store(true)
	}
	s := workerPool{run: n, ticket: ticket, helpers: helpers, done: working.Done(), maxWorkers: ticket.Processors()}
	phases(&s)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := ticket.Err(); err != nil {
		return err
	}
	return n.mu.err
}

// workerPool runs one search on several processors.
type workerPool struct {
	run        *searchRun
	ticket     *admission.Ticket
	helpers    chan struct{} // one for each additional worker that an interactive search may have
	done       <-chan struct{}
	maxWorkers int // concurrent workers
	group      sync.WaitGroup

	workers int // workers started; used only by the first worker
	step    func(v *segmentSearcher, i int)
}

// runPhases runs the phases of a search: the survey, if it needs one, and then the tasks.
// The first worker runs in this goroutine. It starts others when the search takes longer:
// as many as there are idle helpers or, in a heavy search, as there are processors.
func (s *workerPool) runPhases() {
	n, first := s.run, s.newWorker(nil)
	defer first.endWorker()
	if n.plan.needsSurvey {
		s.runParallel(first, 0, len(n.plan.segments), n.surveySegment)
		n.finishSurvey(first.searcher)
	}
	s.visitTiers(first, n.visitTask)
}

// visitTiers visits all tiers of all segments. A search for the best files of a small limit often
// has enough after a few tiers, so it completes each tier before the next one: otherwise, other
// workers would search files of later tiers in vain.
func (s *workerPool) visitTiers(first *worker, visit func(v *segmentSearcher, task int)) {
	n, tasks := s.run, s.run.plan.schedule.segments
	end := n.plan.schedule.taskCount()
	if !n.choosesBest() {
		tasks = end
	}
	for from := 0; from < end && from <= int(n.cutoff.Load()) && !n.halted.Load(); from += tasks {
		s.runParallel(first, from, from+tasks, visit)
	}
}

// runParallel runs the steps between from and to in order on the first worker and those that
// it starts.
func (s *workerPool) runParallel(first *worker, from, to int, step func(v *segmentSearcher, i int)) {
	s.run.mu.next, s.run.mu.end = from, to
	s.workers, s.step = 1, step
	alone := true
	first.runSteps(step, func() {
		if s.ticket.Heavy() {
			s.startAll()
		} else if alone && time.Since(s.run.started) > singleWorkerTime {
			alone = false
			s.startIdle()
		}
	})
	first.turn.Pause()
	s.group.Wait()
	first.turn.Resume()
}

// startIdle starts a worker for each idle helper.
func (s *workerPool) startIdle() {
	for range s.maxWorkers - 1 {
		select {
		case s.helpers <- struct{}{}:
			s.startWorker(s.helpers)
		default:
			return
		}
	}
}

// startAll starts all the workers that the search may have.
func (s *workerPool) startAll() {
	for s.workers < s.maxWorkers {
		s.startWorker(nil)
	}
}

func (s *workerPool) startWorker(token chan struct{}) {
	s.workers++
	s.group.Go(func() {
		w := s.newWorker(token)
		defer w.endWorker()
		w.runSteps(s.step, func() {})
	})
}

// A worker is a goroutine of a pool, with its segment searcher.
type worker struct {
	run      *searchRun
	turn     *admission.Worker
	token    chan struct{} // returned when the worker no longer needs it, if not nil
	searcher *segmentSearcher
}

func (s *workerPool) newWorker(token chan struct{}) *worker {
	n := s.run
	w := &worker{run: n, turn: s.ticket.Worker(s.done), token: token}
	w.searcher = newSegmentSearcher(n.plan.scope, n.keeps(), n.plan.limit, func() bool {
		n.countScanned(w.searcher)
		goes := w.turn.Step()
		if w.token != nil && w.turn.Heavy() {
			w.returnToken()
		}
		return !goes || n.halted.Load() || w.searcher.task > int(n.cutoff.Load())
	}, n.memory)
	w.searcher.turn, w.searcher.bestOnly = w.turn, n.showsBestOnly()
	if n.choosesBest() {
		w.searcher.requested = n.plan.request.Matches
	}
	return w
}

func (w *worker) returnToken() {
	if w.token != nil {
		<-w.token
		w.token = nil
	}
}

// runSteps runs one step after another, and calls between before each.
func (w *worker) runSteps(step func(v *segmentSearcher, i int), between func()) {
	for {
		between()
		i, ok := w.run.takeTask()
		if !ok {
			return
		}
		w.searcher.task = i
		step(w.searcher, i)
	}
}

func (w *worker) endWorker() {
	w.returnToken()
	w.turn.End()
	err := w.searcher.close()
	n := w.run
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.skipDamaged(noSegment, err) {
		n.mu.err = cmp.Or(n.mu.err, err)
	}
	n.mu.stats.addWork(&w.searcher.finder.Work)
}
