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

// all visits the segments until the limit is reached, ctx ends or time is over.
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
	s.group.Wait()
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
}

// main is the first worker, which calls others when the search turns out to take
// longer: as many as there are helpers free, or, in a heavy search, as there are
// processors.
func (s *shift) main() {
	s.workers = 1
	alone := true
	s.work(nil, func() {
		if s.ticket.Heavy() {
			s.summonAll()
		} else if alone && time.Since(s.run.started) > aloneFor {
			alone = false
			s.summonFree()
		}
	})
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
	s.group.Go(func() { s.work(token, func() {}) })
}

// work visits one segment after the other, and calls between before each. token,
// if not nil, is given back when it is not needed any more.
func (s *shift) work(token chan struct{}, between func()) {
	n, w := s.run, s.ticket.Worker(s.done)
	defer w.End()
	giveBack := func() {
		if token != nil {
			<-token
			token = nil
		}
	}
	defer giveBack()
	current := 0
	v := newVisitor(n.scope, n.display, n.request.Matches, func() bool {
		goes := w.Step()
		if token != nil && w.Heavy() {
			giveBack()
		}
		return !goes || n.halted.Load() || current > int(n.cutoff.Load())
	})
	for {
		between()
		i, ok := n.take()
		if !ok {
			break
		}
		current = i
		n.visit(v, i)
	}
	err := v.close()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.err = cmp.Or(n.mu.err, err)
	n.mu.stats.add(&v.stats)
}
