package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/query/syntax"
)

// ErrBusy says that there are too many searches: no place came free in time, or
// too many that take long wait already.
var ErrBusy = admission.ErrBusy

// Options configure a Searcher. The zero value works.
type Options struct {
	// MaxDuration bounds one search; it then returns what it has. Default 30 s.
	MaxDuration time.Duration
	// MaxConcurrent bounds the searches that have just begun, MaxWaiting those that
	// wait for a place among them, MaxWait how long. Defaults four for each
	// processor, 256 and 10 s.
	MaxConcurrent, MaxWaiting int
	MaxWait                   time.Duration
	// MaxHeavy bounds the searches that have turned out to take long and take turns
	// at the processors, MaxHeavyWaiting those that wait for that. Defaults two for
	// each processor, and 64.
	MaxHeavy, MaxHeavyWaiting int
	// MaxResultBytes bounds the files of one result, by what they take as JSON;
	// the rest is counted and not rendered. Default 64 MiB.
	MaxResultBytes int64
	// Contexts are the search contexts that a query may name.
	Contexts map[string]Context
	// Registerer takes the metrics; nil for none.
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.MaxDuration <= 0 {
		o.MaxDuration = 30 * time.Second
	}
	if o.MaxResultBytes <= 0 {
		o.MaxResultBytes = 64 << 20
	}
}

// A Searcher runs queries.
type Searcher struct {
	options   Options
	admission *admission.Controller
	helpers   chan struct{} // one for each processor that a search may use besides its own
	metrics   *metrics
}

// New returns a Searcher.
func New(o Options) *Searcher {
	o.ensureDefaults()
	c := admission.New(admission.Options{
		MaxInteractive: o.MaxConcurrent, MaxWaiting: o.MaxWaiting, MaxWait: o.MaxWait,
		MaxHeavy: o.MaxHeavy, MaxHeavyWaiting: o.MaxHeavyWaiting,
	})
	return &Searcher{
		options:   o,
		admission: c,
		helpers:   make(chan struct{}, max(runtime.GOMAXPROCS(0)-1, 0)),
		metrics:   newMetrics(o.Registerer, c),
	}
}

// Search runs a request on a view. It fails with plan.ErrPattern on a pattern
// that does not compile, code.ErrNotFound on an unknown search context, ErrBusy,
// or the error of ctx; a search that ran out of time is no failure but has a
// StopReason.
func (s *Searcher) Search(ctx context.Context, view View, r Request) (*Result, error) {
	return s.admit(ctx, view, r, nil)
}

// admit runs a request once there is a place for it. Files go to emit, unless it
// is nil.
func (s *Searcher) admit(ctx context.Context, view View, r Request, emit Emit) (*Result, error) {
	start := time.Now()
	ticket, err := s.admission.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer ticket.Leave()
	waited := time.Since(start)
	result, err := s.search(ctx, ticket, view, r, emit)
	if err != nil {
		return nil, err
	}
	result.Stats.Wait = waited
	result.Stats.Duration = time.Since(start)
	s.metrics.observe(result)
	return result, nil
}

func (s *Searcher) search(ctx context.Context, ticket *admission.Ticket, view View, r Request, emit Emit) (*Result, error) {
	start := time.Now()
	w := ticket.Worker(ctx.Done())
	defer w.End()
	c, err := compile(r.Query, s.options.Contexts)
	if err != nil {
		return nil, err
	}
	segments, sc := view.Segments(), newScope(c, view.Repositories(), nil)
	if c.revisions {
		if segments, sc.refs, err = view.Revisions(ctx, c.anyRef); err != nil {
			return nil, fmt.Errorf("open revisions: %w", err)
		}
	}
	if r.Query.Type == syntax.TypeRepo && len(c.atoms) == 0 && onlyRepositories(c) {
		return repositories(sc, r), nil
	}
	planned := time.Since(start)
	w.Pause()
	run := newRun(sc, segments, r)
	a := newAnswer(run, w, s.options.MaxResultBytes)
	work := func(ctx context.Context) error { return run.all(ctx, s.options.MaxDuration, crew{ticket, s.helpers}) }
	if emit == nil {
		err = a.all(ctx, work)
	} else {
		err = a.stream(ctx, work, emit)
	}
	if err = errors.Join(err, a.close()); err != nil {
		return nil, err
	}
	a.result.Stats.Planning = planned
	a.result.Stats.Searching = time.Since(start) - planned
	return a.result, nil
}

// A run visits segments, in order, by one or more visitors.
type run struct {
	scope    *scope
	segments []Segment
	request  Request
	display  int
	started  time.Time

	halted atomic.Bool // by time or by the caller, or because of exceeded
	// exceeded says that a document has more matches than a visitor may hold.
	exceeded atomic.Bool
	cutoff   atomic.Int32 // segments after this one are not needed any more
	finish   func()       // ends the wait of workers for a processor: nothing is left to do
	// progress has a value when segments from 0 up are done that were not before.
	progress chan struct{}

	mu struct {
		sync.Mutex
		next   int // next segment to visit
		done   []visited
		prefix int             // segments from 0 up that are done
		count  int             // matches in those
		seen   map[uint32]bool // repositories in those, if they are the answer
		err    error
		stats  Stats
	}
}

type visited struct {
	hits    []hit
	count   int
	ok      bool
	explain *SegmentExplain
}

func newRun(sc *scope, segments []Segment, r Request) *run {
	n := &run{scope: sc, segments: segments, request: r, display: r.shown(), started: time.Now(), finish: func() {}, progress: make(chan struct{}, 1)}
	n.cutoff.Store(math.MaxInt32)
	n.mu.done = make([]visited, len(segments))
	n.mu.seen = make(map[uint32]bool)
	return n
}

func (n *run) take() (int, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.next == len(n.segments) || n.mu.next > int(n.cutoff.Load()) || n.mu.err != nil || n.halted.Load() {
		return 0, false
	}
	n.mu.next++
	return n.mu.next - 1, true
}

func (n *run) visit(v *visitor, i int) {
	before, started := v.stats, time.Now()
	hits, count, err := v.visit(i, n.segments[i])
	if v.exceeded {
		n.exceeded.Store(true)
		n.halted.Store(true)
		n.finish()
	}
	d := visited{hits: hits, count: count, ok: true}
	if n.request.Explain {
		d.explain = v.explain(&before, count, time.Since(started))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil && n.mu.err == nil {
		n.mu.err = fmt.Errorf("search segment %s: %w", n.segments[i].Reader.ID(), err)
	}
	n.mu.done[i] = d
	for n.mu.prefix < len(n.mu.done) && n.mu.done[n.mu.prefix].ok {
		n.mu.count += n.fresh(&n.mu.done[n.mu.prefix], n.mu.seen)
		if n.mu.count > n.request.Matches {
			n.cutoff.Store(min(n.cutoff.Load(), int32(n.mu.prefix)))
		}
		n.mu.prefix++
		n.tell()
	}
	if n.mu.prefix > int(n.cutoff.Load()) || n.mu.err != nil {
		n.finish()
	}
}

// tell says that there is progress.
func (n *run) tell() {
	select {
	case n.progress <- struct{}{}:
	default: // said already, and nobody has looked since
	}
}

func (n *run) conclude(r *Result) {
	r.Stats.SegmentsSkipped += len(n.segments) - n.mu.next
	switch {
	case r.Stats.Matches > n.request.Matches:
		r.Stats.Matches = n.request.Matches + 1
		r.Stopped = StopMatchLimit
	case n.exceeded.Load():
		r.Stopped = StopByteLimit
	case n.halted.Load():
		r.Stopped = StopTimeLimit
	}
	r.Exhaustive = r.Stopped == StopNone
	for i := n.mu.next; i < len(n.segments); i++ {
		r.Stats.FilesSkipped += n.segments[i].Places.Len()
	}
	if r.Explain != nil {
		r.Explain.Stopped = r.Stopped
	}
}
