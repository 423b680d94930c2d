package search

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/search/internal/admission"
)

// aloneFor is how long a search keeps to its own processor: most are done by
// then, and many at once share the machine better.
const aloneFor = 300 * time.Microsecond

// A crew is whom a search may have to work for it.
type crew struct {
	ticket  *admission.Ticket
	helpers chan struct{} // one for each worker that an interactive search may have besides its own
}

// errFinished ends the context of a run that has all it needs.
var errFinished = errors.New("the search has what it needs")

// all does all tasks until the limit is reached, ctx ends or time is over.
func (n *run) all(ctx context.Context, limit time.Duration, c crew) error {
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	working, finish := context.WithCancelCause(timed)
	n.finish = func() { finish(errFinished) }
	defer n.finish()
	defer context.AfterFunc(timed, func() { n.halted.Store(true) })()
	if timed.Err() != nil {
		n.halted.Store(true)
	}
	s := shift{run: n, crew: c, done: working.Done(), most: c.ticket.Processors()}
	s.main()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.ticket.Err(); err != nil {
		return err
	}
	return n.mu.err
}

// A shift is the workers of a run.
type shift struct {
	crew
	run   *run
	done  <-chan struct{}
	most  int // workers at once
	group sync.WaitGroup

	workers int // that were begun, by the first of them
	step    func(v *visitor, i int)
}

// main is the first worker, which calls others when the search turns out to take
// longer: as many as there are helpers free, or, in a heavy search, as there are
// processors. What needs a survey first has two shifts.
func (s *shift) main() {
	n, first := s.run, s.newWorker(nil)
	defer first.end()
	if n.survey {
		s.together(first, len(n.segments), n.surveySegment)
		n.surveyed()
	}
	s.together(first, n.agenda.tasks(), n.visit)
}

// together does a number of steps in order, by the first worker and those that it
// calls.
func (s *shift) together(first *worker, steps int, step func(v *visitor, i int)) {
	s.run.mu.next, s.run.mu.end = 0, steps
	s.workers, s.step = 1, step
	alone := true
	first.work(step, func() {
		if s.ticket.Heavy() {
			s.summonAll()
		} else if alone && time.Since(s.run.started) > aloneFor {
			alone = false
			s.summonFree()
		}
	})
	first.turn.Pause()
	s.group.Wait()
	first.turn.Resume()
}

// summonFree begins a worker for each helper that is free.
func (s *shift) summonFree() {
	for range s.most - 1 {
		select {
		case s.helpers <- struct{}{}:
			s.add(s.helpers)
		default:
			return
		}
	}
}

// summonAll begins all the workers that a search may have.
func (s *shift) summonAll() {
	for s.workers < s.most {
		s.add(nil)
	}
}

func (s *shift) add(token chan struct{}) {
	s.workers++
	s.group.Go(func() {
		w := s.newWorker(token)
		defer w.end()
		w.work(s.step, func() {})
	})
}

// A worker is a goroutine of a shift with its visitor.
type worker struct {
	run     *run
	turn    *admission.Worker
	token   chan struct{} // given back when it is not needed any more, if not nil
	visitor *visitor
}

func (s *shift) newWorker(token chan struct{}) *worker {
	n := s.run
	w := &worker{run: n, turn: s.ticket.Worker(s.done), token: token}
	w.visitor = newVisitor(n.scope, n.keeps(), n.limit, func() bool {
		n.countScanned(w.visitor)
		goes := w.turn.Step()
		if w.token != nil && w.turn.Heavy() {
			w.giveBack()
		}
		return !goes || n.halted.Load() || w.visitor.task > int(n.cutoff.Load())
	})
	w.visitor.picks = n.picks()
	w.visitor.holding = n.holding
	return w
}

func (w *worker) giveBack() {
	if w.token != nil {
		<-w.token
		w.token = nil
	}
}

// work does one step after the other, and calls between before each.
func (w *worker) work(step func(v *visitor, i int), between func()) {
	for {
		between()
		i, ok := w.run.take()
		if !ok {
			return
		}
		w.visitor.task = i
		step(w.visitor, i)
	}
}

func (w *worker) end() {
	w.giveBack()
	w.turn.End()
	err := w.visitor.close()
	n := w.run
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.skipDamaged(err) {
		n.mu.err = cmp.Or(n.mu.err, err)
	}
	n.mu.stats.add(&w.visitor.stats)
}
