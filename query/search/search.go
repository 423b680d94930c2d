package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/syntax"
)

// ErrBusy says that no place for the search came free in time.
var ErrBusy = errors.New("too many searches at once")

// Options configure a Searcher. The zero value works.
type Options struct {
	// MaxDuration bounds one search; it then returns what it has. Default 30 s.
	MaxDuration time.Duration
	// MaxConcurrent bounds the searches that run at once; others wait. Default
	// four for each processor.
	MaxConcurrent int
	// MaxWait bounds the wait for a place. Default 10 s.
	MaxWait time.Duration
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
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = 4 * runtime.GOMAXPROCS(0)
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 10 * time.Second
	}
	if o.MaxResultBytes <= 0 {
		o.MaxResultBytes = 64 << 20
	}
}

// A Searcher runs queries.
type Searcher struct {
	options Options
	places  chan struct{} // one for each search that runs
	helpers chan struct{} // one for each processor that a search may use besides its own
	metrics *metrics
}

// New returns a Searcher.
func New(o Options) *Searcher {
	o.ensureDefaults()
	return &Searcher{
		options: o,
		places:  make(chan struct{}, o.MaxConcurrent),
		helpers: make(chan struct{}, max(runtime.GOMAXPROCS(0)-1, 0)),
		metrics: newMetrics(o.Registerer),
	}
}

// Search runs a request on a view. It fails with plan.ErrPattern on a pattern
// that does not compile, code.ErrNotFound on an unknown search context, ErrBusy,
// or the error of ctx; a search that ran out of time is no failure but has a
// StopReason.
func (s *Searcher) Search(ctx context.Context, view View, r Request) (*Result, error) {
	start := time.Now()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.places }()
	waited := time.Since(start)
	result, err := s.search(ctx, view, r)
	if err != nil {
		return nil, err
	}
	result.Stats.Wait = waited
	result.Stats.Duration = time.Since(start)
	s.metrics.observe(result)
	return result, nil
}

func (s *Searcher) enter(ctx context.Context) error {
	select {
	case s.places <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(s.options.MaxWait)
	defer timer.Stop()
	select {
	case s.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("%w: none of %d places came free in %v", ErrBusy, s.options.MaxConcurrent, s.options.MaxWait)
	}
}

func (s *Searcher) search(ctx context.Context, view View, r Request) (*Result, error) {
	start := time.Now()
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
	run := newRun(sc, segments, r)
	if err := run.all(ctx, s.options.MaxDuration, s.helpers); err != nil {
		return nil, err
	}
	result, err := run.result(ctx, s.options.MaxResultBytes)
	if err != nil {
		return nil, err
	}
	result.Stats.Planning = planned
	result.Stats.Searching = time.Since(start) - planned
	return result, nil
}

// aloneFor is how long a search keeps to its own processor: most are done by
// then, and many at once share the machine better.
const aloneFor = 300 * time.Microsecond

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
	n := &run{scope: sc, segments: segments, request: r, display: r.shown(), started: time.Now()}
	n.cutoff.Store(math.MaxInt32)
	n.mu.done = make([]visited, len(segments))
	n.mu.seen = make(map[uint32]bool)
	return n
}

// all visits the segments until the limit is reached, ctx ends or time is over.
func (n *run) all(ctx context.Context, limit time.Duration, helpers chan struct{}) error {
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(timed, func() { n.halted.Store(true) })()
	if timed.Err() != nil {
		n.halted.Store(true)
	}
	var group sync.WaitGroup
	n.work(func() {
		for range cap(helpers) {
			select {
			case helpers <- struct{}{}:
				group.Go(func() {
					defer func() { <-helpers }()
					n.work(nil)
				})
			default:
				return
			}
		}
	})
	group.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return n.mu.err
}

// work visits one segment after the other. summon, if not nil, is called once
// when the search turns out to take longer.
func (n *run) work(summon func()) {
	current := 0
	v := newVisitor(n.scope, n.display, n.request.Matches, func() bool {
		return n.halted.Load() || current > int(n.cutoff.Load())
	})
	for {
		if summon != nil && time.Since(n.started) > aloneFor {
			summon()
			summon = nil
		}
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
	}
}

// result puts together what the visitors found, in the order of segments.
func (n *run) result(ctx context.Context, maxBytes int64) (*Result, error) {
	result := &Result{Stats: n.mu.stats, Exhaustive: true}
	var shown []hit
	room := n.display
	last := min(len(n.segments)-1, int(n.cutoff.Load()))
	if n.request.Explain {
		result.Explain = n.explain()
	}
	seen := make(map[uint32]bool)
	for i := 0; i <= last; i++ {
		d := &n.mu.done[i]
		if d.explain != nil {
			result.Explain.Segments = append(result.Explain.Segments, *d.explain)
		}
		for _, h := range n.distinct(d.hits, seen) {
			if result.Stats.Matches > n.request.Matches {
				break
			}
			result.Stats.Matches += h.count
			result.Stats.Files++
			if room > 0 {
				shown, room = appendShown(shown, h, room)
			}
		}
	}
	n.conclude(result)
	if n.scope.c.shown == syntax.SelectRepo {
		n.list(result, shown)
		return result, nil
	}
	return result, n.render(ctx, result, shown, maxBytes)
}

// appendShown adds a hit, cut to the room that is left.
func appendShown(shown []hit, h hit, room int) ([]hit, int) {
	h.matches = h.matches[:min(len(h.matches), room)]
	return append(shown, h), room - max(len(h.matches), 1)
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
