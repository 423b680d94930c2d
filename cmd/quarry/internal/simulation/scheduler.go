package simulation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// ErrKilled is what every operation of a process fails with once it was killed.
var ErrKilled = errors.New("the process was killed")

// A Verdict says what happens to an operation.
type Verdict int

// What can happen to an operation.
const (
	// Succeed lets it happen.
	Succeed Verdict = iota
	// Fail prevents it.
	Fail
	// LoseAnswer lets it take effect and makes it fail.
	LoseAnswer
)

// A Scheduler chooses which operation happens next. Its methods but Await are for the
// goroutine that runs the simulation.
type Scheduler struct {
	// Rand is the source of every choice.
	Rand  *rand.Rand
	began time.Time
	trace hash.Hash
	// events counts what was noted in the trace.
	events int
	log    io.Writer // nil for none

	mu struct {
		sync.Mutex
		waiting []*operation
		// arrived has a signal if an operation has come since it was taken.
		arrived chan struct{}
	}
}

// operation is one that waits for the scheduler.
type operation struct {
	process *Process
	name    string
	chosen  chan decision
}

// decision is what the scheduler says to an operation.
type decision struct {
	verdict Verdict
	// amount is a number for the operation to use, from 1 to maxAmount.
	amount int
	err    error
}

const maxAmount = 32

// NewScheduler returns a scheduler whose choices follow from seed. It writes each to
// log, unless that is nil.
func NewScheduler(seed uint64, log io.Writer) *Scheduler {
	s := &Scheduler{Rand: rand.New(rand.NewPCG(seed, 0)), began: time.Now(), trace: sha256.New(), log: log}
	s.mu.arrived = make(chan struct{}, 1)
	return s
}

// Await waits until the scheduler chooses the operation, ctx ends, or the process is
// killed. Names of operations that wait at the same time differ.
func (s *Scheduler) Await(ctx context.Context, p *Process, name string) (Verdict, error) {
	d := s.awaitDecision(ctx, p, name)
	return d.verdict, d.err
}

func (s *Scheduler) awaitDecision(ctx context.Context, p *Process, name string) decision {
	if s == nil {
		return decision{amount: 1}
	}
	op := &operation{process: p, name: name, chosen: make(chan decision, 1)}
	if !s.addOperation(op) {
		return decision{err: ErrKilled}
	}
	select {
	case d := <-op.chosen:
		return d
	case <-ctx.Done():
		s.removeOperation(op)
		return decision{err: context.Cause(ctx)}
	}
}

func (s *Scheduler) addOperation(op *operation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op.process != nil && op.process.killed {
		return false
	}
	s.mu.waiting = append(s.mu.waiting, op)
	select {
	case s.mu.arrived <- struct{}{}:
	default:
	}
	return true
}

func (s *Scheduler) removeOperation(op *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.waiting = slices.DeleteFunc(s.mu.waiting, func(o *operation) bool { return o == op })
}

// Step lets one of the operations that wait happen, as judge says, and returns when
// everything that follows from it has happened. It reports false if none waits.
func (s *Scheduler) Step(judge func(operation string) Verdict) bool {
	synctest.Wait()
	op := s.chooseOperation()
	if op == nil {
		return false
	}
	d := decision{verdict: judge(op.name), amount: 1 + s.Rand.IntN(maxAmount)}
	s.Note("%s %d", op.name, d.verdict)
	op.chosen <- d
	synctest.Wait()
	return true
}

// chooseOperation takes one of the operations that wait.
func (s *Scheduler) chooseOperation() *operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.waiting) == 0 {
		return nil
	}
	slices.SortStableFunc(s.mu.waiting, func(a, b *operation) int { return cmp.Compare(a.name, b.name) })
	i := s.Rand.IntN(len(s.mu.waiting))
	op := s.mu.waiting[i]
	s.mu.waiting = slices.Delete(s.mu.waiting, i, i+1)
	return op
}

// Sleep lets the clock move until d has passed or another operation comes.
func (s *Scheduler) Sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	synctest.Wait() // what was begun before comes before
	select {
	case <-s.mu.arrived: // it may be of an operation that was chosen since
	default:
	}
	select {
	case <-s.mu.arrived:
	case <-timer.C:
	}
	synctest.Wait()
	s.Note("clock")
}

// Note counts an event and adds it to the trace, with the time.
func (s *Scheduler) Note(format string, args ...any) {
	s.events++
	line := fmt.Sprintf("%d %s %s\n", s.events, time.Since(s.began), fmt.Sprintf(format, args...))
	s.trace.Write([]byte(line))
	if s.log != nil {
		_, _ = io.WriteString(s.log, line)
	}
}

// Events returns how many events there were.
func (s *Scheduler) Events() int { return s.events }

// Trace returns a hash of all events: equal for equal runs.
func (s *Scheduler) Trace() string { return hex.EncodeToString(s.trace.Sum(nil)[:8]) }

// A Process is one life of the server.
type Process struct {
	s      *Scheduler
	killed bool // guarded by s.mu
}

// NewProcess returns a process that lives.
func (s *Scheduler) NewProcess() *Process { return &Process{s: s} }

// Kill fails every operation of the process that waits, and those to come.
func (p *Process) Kill() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.killed = true
	p.s.mu.waiting = slices.DeleteFunc(p.s.mu.waiting, func(op *operation) bool {
		if op.process != p {
			return false
		}
		op.chosen <- decision{err: ErrKilled}
		return true
	})
}

// Killed reports whether Kill was called.
func (p *Process) Killed() bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.killed
}
