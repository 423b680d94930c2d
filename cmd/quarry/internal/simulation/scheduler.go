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

// ErrKilled is the error of every operation of a process that was killed.
var ErrKilled = errors.New("the process was killed")

// A Verdict is the result of an operation.
type Verdict int

// These are the possible results of an operation.
const (
	// Succeed lets the operation happen.
	Succeed Verdict = iota
	// Fail prevents the operation.
	Fail
	// LoseAnswer lets the operation take effect but makes it fail.
	LoseAnswer
)

// A Scheduler chooses which operation happens next. Its methods, except Await, may be
// called only by the goroutine that runs the simulation.
type Scheduler struct {
	// Rand is the source of every choice.
	Rand  *rand.Rand
	began time.Time
	trace hash.Hash
	// events counts the entries of the trace.
	events int
	log    io.Writer // nil for no log

	mu struct {
		sync.Mutex
		waiting []*operation
		// arrived signals that an operation has arrived since the last receive.
		arrived chan struct{}
	}
}

// operation is an operation that waits for the scheduler.
type operation struct {
	process *Process
	name    string
	chosen  chan decision
}

// decision is the scheduler's answer to an operation.
type decision struct {
	verdict Verdict
	// amount is a number for the operation to use, from 1 to maxAmount.
	amount int
	err    error
}

const maxAmount = 32

// NewScheduler returns a scheduler whose choices follow from seed. It writes each choice
// to log, unless log is nil.
func NewScheduler(seed uint64, log io.Writer) *Scheduler {
	s := &Scheduler{Rand: rand.New(rand.NewPCG(seed, 0)), began: time.Now(), trace: sha256.New(), log: log}
	s.mu.arrived = make(chan struct{}, 1)
	return s
}

// Await waits until the scheduler chooses the operation, ctx ends, or the process is
// killed. Operations that wait at the same time must have different names.
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

// Step lets one of the waiting operations happen, with the verdict of judge, and returns
// when all goroutines are blocked again. It reports false if no operation waits.
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

// chooseOperation removes and returns one of the waiting operations.
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

// Sleep lets the clock advance until d has passed or another operation arrives.
func (s *Scheduler) Sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	synctest.Wait() // finish what has begun first
	select {
	case <-s.mu.arrived: // the signal may be of an operation that was chosen since
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

// Events returns the number of entries in the trace.
func (s *Scheduler) Events() int { return s.events }

// Trace returns a hash of all entries. Equal runs have equal hashes.
func (s *Scheduler) Trace() string { return hex.EncodeToString(s.trace.Sum(nil)[:8]) }

// A Process is one run of the server.
type Process struct {
	s      *Scheduler
	killed bool // guarded by s.mu
}

// NewProcess returns a running process.
func (s *Scheduler) NewProcess() *Process { return &Process{s: s} }

// Kill makes every waiting and every later operation of the process fail.
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
