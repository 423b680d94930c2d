package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/memory"
	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// ErrBusy means that there are too many searches: no slot became free in time, or too
// many heavy searches are waiting.
var ErrBusy = admission.ErrBusy

// ErrUnavailable is failure.ErrUnavailable: the index cannot be searched now.
var ErrUnavailable = failure.ErrUnavailable

// Options configure a Searcher. The zero value works.
type Options struct {
	// MaxDuration bounds one search, which then returns the results found so far. Default
	// 30 s.
	MaxDuration time.Duration
	// MaxConcurrent bounds the interactive searches, MaxWaiting the searches that wait
	// for a slot among them, and MaxWait how long they wait. Defaults four per
	// processor, 256 and 10 s.
	MaxConcurrent, MaxWaiting int
	MaxWait                   time.Duration
	// MaxHeavy bounds the heavy searches that take turns at the processors, and
	// MaxHeavyWaiting those that wait to do so. Defaults 32 per processor, and 64.
	MaxHeavy, MaxHeavyWaiting int
	// MaxScanBytes bounds the text that one search scans, decompressed or from the cache.
	// The default is no bound.
	MaxScanBytes int64
	// MaxMemoryBytes bounds the matches and files that one search holds, and
	// TotalMemoryBytes those of all searches, without the first MiB of each. Defaults 96
	// and 128 MiB.
	MaxMemoryBytes, TotalMemoryBytes int64
	// MaxResultBytes bounds the files of one result by their size as JSON. The rest is
	// counted but not rendered. Default 64 MiB.
	MaxResultBytes int64
	// Contexts are the search contexts that a query may name.
	Contexts map[string]corpus.Context
	// Registerer registers the metrics; nil for none.
	Registerer prometheus.Registerer
}

func (o *Options) ensureDefaults() {
	if o.MaxDuration <= 0 {
		o.MaxDuration = 30 * time.Second
	}
	if o.MaxMemoryBytes <= 0 {
		o.MaxMemoryBytes = 96 << 20
	}
	if o.TotalMemoryBytes <= 0 {
		o.TotalMemoryBytes = 128 << 20
	}
	if o.MaxResultBytes <= 0 {
		o.MaxResultBytes = 64 << 20
	}
}

// A Searcher runs queries.
type Searcher struct {
	options   Options
	admission *admission.Controller
	helpers   chan struct{} // one for each additional processor that a search may use
	memory    *memory.Pool
	metrics   *metrics
}

// New returns a Searcher.
func New(o Options) *Searcher {
	o.ensureDefaults()
	c := admission.New(admission.Options{
		MaxInteractive: o.MaxConcurrent, MaxWaiting: o.MaxWaiting, MaxWait: o.MaxWait,
		MaxHeavy: o.MaxHeavy, MaxHeavyWaiting: o.MaxHeavyWaiting,
	})
	pool := memory.NewPool(o.TotalMemoryBytes)
	return &Searcher{
		options:   o,
		admission: c,
		helpers:   make(chan struct{}, max(runtime.GOMAXPROCS(0)-1, 0)),
		memory:    pool,
		metrics:   newMetrics(o.Registerer, c, pool),
	}
}

// Search runs a request on a view. It fails with plan.ErrPattern on a pattern that does not
// compile, code.ErrNotFound on an unknown search context, ErrBusy, or the error of ctx. A
// search that ran out of time does not fail but has a StopReason.
//
// The query is searched for as it is: package assist tries the readings of pasted text,
// resolves predicates and gives advice.
func (s *Searcher) Search(ctx context.Context, view corpus.View, r Request) (*Result, error) {
	return s.Stream(ctx, view, r, nil)
}

// Stream is like Search, but passes the files to emit in parts as they are found, in the
// calling goroutine. The result has no files. All parts together have the files, matches
// and counts that Search would return, in the order of Search within each part. The search
// continues while emit runs. With a nil emit, it is Search.
//
// The order in which files are found depends on everything in the index. So for a caller
// who may not see everything, and if shards search, the parts are sent at the end, in the
// order of Search. If a shard moves to another replica, the search begins again with the time
// that is left.
func (s *Searcher) Stream(ctx context.Context, view corpus.View, r Request, emit Emit) (*Result, error) {
	start, limit := time.Now(), r.maxDuration(s.options.MaxDuration)
	shards, _ := view.(*shardedView)
	for {
		if shards != nil {
			shards.allowChange(r.NewView)
		}
		result, err := s.admitSearch(ctx, view, r, emit)
		if !errors.Is(err, errShardMoved) {
			return result, err
		}
		r.TimeLimit = max(limit-time.Since(start), 1)
	}
}

// MaxDuration returns Options.MaxDuration.
func (s *Searcher) MaxDuration() time.Duration { return s.options.MaxDuration }

// admitSearch runs a request on the replicas that a view has now, once there is a slot for it.
func (s *Searcher) admitSearch(ctx context.Context, view corpus.View, r Request, emit Emit) (result *Result, err error) {
	ctx, span := tracing.Start(ctx, "search")
	defer func() { span.End(err) }()
	start := time.Now()
	ticket, err := s.admission.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer ticket.Leave()
	waited := time.Since(start)
	if result, err = s.runSearch(ctx, ticket, view, r, emit); err != nil {
		return nil, err
	}
	if shards, ok := view.(*shardedView); ok {
		shards.allowChange(false)
	}
	result.Stats.Wait = waited
	result.Stats.Duration = time.Since(start)
	if result.Explain != nil {
		result.Explain.Stopped = result.Stopped
		if past, ok := view.(interface{ AsOf() string }); ok {
			result.Explain.AsOf = past.AsOf()
		}
		result.Explain.Stages = stageTimes(&result.Stats)
	}
	result.DropUnknownNotices(view)
	s.metrics.observeResult(result, span.TraceID())
	span.SetInt("quarry.matches", int64(result.Stats.Matches))
	span.SetInt("quarry.files_loaded", int64(result.Stats.FilesLoaded))
	span.SetInt("quarry.scanned_bytes", result.Stats.ScannedBytes)
	span.SetWord("quarry.stopped", string(result.Stopped))
	if corpus.Restricted(view) {
		result.hideCosts()
	}
	return result, nil
}

// DropUnknownNotices drops the notices on filters that select nothing if some shards of a
// view are lost: what a filter selects may be lost.
func (r *Result) DropUnknownNotices(view corpus.View) {
	if LostPartitions(view) != nil {
		r.Notices = slices.DeleteFunc(r.Notices, func(n syntax.Notice) bool { return n.Code == syntax.FilterSelectsNothing })
	}
}

// runSearch runs an admitted search:
//
//	plan        planSearch compiles the query and opens the places that it covers
//	order       orderTasks sets the order in which segments and tiers are visited
//	visit       runPhases starts visitTask for each tier of each segment
//	candidates  a match.Finder searches the index of the segment for documents that may match
//	verify      searchDocument searches their text
//	rank, cut   build takes the hits in order, chooses those to show,
//	render      renders their files and sorts them
//	notices     findNotices names filters that select nothing
func (s *Searcher) runSearch(ctx context.Context, ticket *admission.Ticket, view corpus.View, r Request, emit Emit) (*Result, error) {
	start := time.Now()
	turn := ticket.Worker(ctx.Done())
	defer turn.End()
	_, span := tracing.Start(ctx, "plan")
	plan, err := s.planSearch(ctx, view, r)
	span.End(err)
	if err != nil {
		return nil, err
	}
	if plan.listsRegistered() {
		result := searchRepositories(plan.scope, r)
		if result.LostPartitions = LostPartitions(view); result.Exhaustive && result.LostPartitions != nil {
			result.Exhaustive, result.Stopped = false, StopShardLost
		} else if result.Exhaustive && r.Incomplete != StopNone {
			result.Exhaustive, result.Stopped = false, r.Incomplete
		}
		result.Notices = s.findNotices(ctx, view, plan, len(result.Repositories) == 0, func() *admission.Worker { return turn })
		return result, nil
	}
	if shards, ok := view.(*shardedView); ok {
		turn.Pause()
		if plan.remote, err = shards.beginSearch(ctx, plan, r.maxDuration(s.options.MaxDuration)); err != nil {
			return nil, err
		}
		defer plan.remote.endSearch()
		plan.costs = plan.remote.costs
	}
	plan.orderTasks(s.maxDisplay())
	planned := time.Since(start)
	turn.Pause()
	run := newSearchRun(plan, s.memory.NewBudget(s.options.MaxMemoryBytes))
	run.maxScanBytes = s.options.MaxScanBytes
	answer := newResultBuilder(run, turn, s.options.MaxResultBytes)
	var notices []syntax.Notice
	work := func(ctx context.Context) error {
		defer ticket.Leave() // a client that reads slowly must not hold a slot
		visiting, span := tracing.Start(ctx, "visit segments")
		span.SetInt("quarry.segments", int64(plan.schedule.segments))
		var err error
		if run.plan.remote != nil {
			err = run.runShards(visiting)
		} else {
			err = run.runPool(visiting, r.maxDuration(s.options.MaxDuration), ticket, s.helpers, (*workerPool).runPhases)
		}
		span.End(err)
		if err == nil && !run.halted.Load() && !r.WithoutAdvice {
			notices = s.findNotices(ctx, view, plan, run.mu.count == 0, func() *admission.Worker { return ticket.Worker(ctx.Done()) })
		}
		return err
	}
	if err := answer.build(ctx, work, emit); err != nil {
		return nil, err
	}
	result := answer.result
	result.Notices = notices
	result.Stats.Planning = planned
	result.Stats.Searching = time.Since(start) - planned
	return result, nil
}

// maxDisplay bounds the matches of a result by its size.
func (s *Searcher) maxDisplay() int { return int(s.options.MaxResultBytes/rangeBytes) + 1 }

// searchRun runs the tasks of a plan, in order, on one or more segment searchers.
type searchRun struct {
	plan    *searchPlan
	started time.Time

	halted atomic.Bool // by the time limit, by the caller, or because of exceeded
	// exceeded means that a document has more matches than a segmentSearcher may hold.
	exceeded     atomic.Bool
	cutoff       atomic.Int32 // later tasks are no longer needed
	memory       *memory.Budget
	scanned      atomic.Int64 // bytes of text that segment searchers have reported as scanned
	maxScanBytes int64        // bound on scanned, 0 for none
	scanExceeded atomic.Bool  // scanned exceeds its bound
	damaged      atomic.Bool  // a segment could not be read
	cancelWork   func()       // ends the workers' wait for a processor when no work is left
	// progress has a value when the prefix of completed tasks has grown.
	progress chan struct{}

	mu struct {
		sync.Mutex
		next, end int // next step to take, and the end of the steps
		done      []taskResult
		prefix    int             // completed tasks, from 0 up
		documents int             // searched in the prefix
		ended     bool            // the search ended before its limit: by lookedEnough, or likewise in several segments
		count     int             // matches in the prefix
		seen      map[uint32]bool // repositories in the prefix, if the answer lists repositories
		err       error
		stats     Stats
		// candidates of the segments surveyed
		candidates int
		explain    []SegmentExplain // by segment, if requested
	}
}

type taskResult struct {
	hits       []hit
	count      int
	ok         bool
	looked     bool // documents were searched
	ended      bool // by lookedEnough
	considered int  // number of documents
}

func newSearchRun(p *searchPlan, budget *memory.Budget) *searchRun {
	n := &searchRun{plan: p, started: time.Now(), memory: budget, cancelWork: func() {}, progress: make(chan struct{}, 1)}
	n.cutoff.Store(math.MaxInt32)
	n.setTasks()
	if p.request.Explain {
		n.mu.explain = make([]SegmentExplain, p.schedule.segments)
	}
	n.mu.seen = make(map[uint32]bool)
	return n
}

func (n *searchRun) takeTask() (int, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.next == n.mu.end || n.mu.next > int(n.cutoff.Load()) || n.mu.err != nil || n.halted.Load() {
		return 0, false
	}
	n.mu.next++
	return n.mu.next - 1, true
}

func (n *searchRun) visitTask(v *segmentSearcher, i int) {
	before, started := v.finder.Work, time.Now()
	segment, of := n.plan.schedule.taskAt(i)
	visit := v.startTask(segment, n.plan.segments[segment])
	visit.first = n.plan.schedule.firstOf(i)
	err := visit.visitTier(of, n.plan.schedule)
	if v.finder.Exceeded {
		n.exceeded.Store(true)
		n.halted.Store(true)
		n.cancelWork()
	}
	d := taskResult{
		hits: visit.hits, count: visit.count, ok: true, looked: visit.looked, ended: visit.ended,
		considered: v.finder.Work.FilesConsidered - before.FilesConsidered,
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failLocked(segment, err)
	n.explainLocked(v, segment, &before, visit.count, time.Since(started))
	n.mu.done[i] = d
	if visit.first != nil {
		visit.first.add(n.firstHits(visit.hits))
	}
	n.advancePrefixLocked()
	if n.mu.prefix > int(n.cutoff.Load()) || n.mu.err != nil {
		n.cancelWork()
	}
}

// advancePrefixLocked counts the completed tasks that follow the prefix, and sets the
// cutoff once there are enough matches, or once the documents of several segments would be
// enough for one: see lookedEnough.
func (n *searchRun) advancePrefixLocked() {
	for n.mu.prefix < len(n.mu.done) && n.mu.done[n.mu.prefix].ok {
		done := &n.mu.done[n.mu.prefix]
		n.mu.count += n.countNew(done, n.mu.seen)
		ended := done.ended
		n.mu.documents += done.considered
		if _, t := n.plan.schedule.taskAt(n.mu.prefix); n.choosesBest() {
			enough := t.enoughInAll(n.plan.schedule.segmentStates != nil)
			ended = ended || enough > 0 && n.mu.documents >= enough && n.mu.count > n.plan.request.Matches
			ended = ended || t == tierDefines && n.mu.prefix == n.plan.schedule.lastRanked() && n.definitionsFill()
		}
		if (ended || n.mu.count > n.plan.enough) && n.mu.prefix >= n.plan.schedule.lastRanked() {
			n.mu.ended = n.mu.ended || ended
			last := n.mu.prefix
			if n.ordersByFile() {
				last = n.plan.schedule.lastOfBand(last)
			}
			n.cutoff.Store(min(n.cutoff.Load(), int32(last)))
		}
		n.mu.prefix++
		n.signalProgress()
	}
}

// choosesBest reports whether tasks may end before the limit of the search, since more
// matches than were requested are looked at only for the choice of the best.
func (n *searchRun) choosesBest() bool {
	return n.plan.request.Matches < n.plan.limit && !n.ordersByFile()
}

// scanStep is the number of bytes that a segmentSearcher scans before it reports them.
const scanStep = 1 << 20

// countScanned adds the text scanned by a segment searcher to the total, and ends the
// search when the total exceeds its bound.
func (n *searchRun) countScanned(v *segmentSearcher) {
	more := v.finder.Work.ScannedBytes - v.scannedReported
	if n.maxScanBytes <= 0 || more < scanStep {
		return
	}
	v.scannedReported = v.finder.Work.ScannedBytes
	if n.scanned.Add(more) > n.maxScanBytes {
		n.scanExceeded.Store(true)
		n.halted.Store(true)
		n.cancelWork()
	}
}

// signalProgress makes a value available on progress.
func (n *searchRun) signalProgress() {
	select {
	case n.progress <- struct{}{}:
	default: // already signaled and not yet received
	}
}

func (n *searchRun) failLocked(segment int, err error) {
	if n.skipDamaged(segment, err) {
		return
	}
	if err != nil && n.mu.err == nil {
		n.mu.err = fmt.Errorf("search segment %s: %w", n.plan.segments[segment].Reader.ID(), err)
	}
}

// noSegment is the index of no segment of the view.
const noSegment = -1

// skipDamaged records that a segment, or noSegment if it is not known, cannot be read, if
// err shows that, so that it is restored. The search continues without the segment.
func (n *searchRun) skipDamaged(segmentIndex int, err error) bool {
	if !errors.Is(err, segment.ErrCorrupt) && !errors.Is(err, postings.ErrCorrupt) && !errors.Is(err, integrity.ErrDamaged) {
		return false
	}
	n.damaged.Store(true)
	if segmentIndex != noSegment {
		n.plan.segments[segmentIndex].Reader.NoteDamage(err)
	}
	return true
}

func (n *searchRun) setStopReason(r *Result) {
	if n.plan.remote != nil {
		r.LostPartitions = n.plan.remote.view.lostPartitions()
	}
	switch {
	case r.Stats.Matches > n.plan.request.Matches:
		r.Stats.Matches = n.plan.request.Matches + 1
		r.Stopped = StopMatchLimit
	case len(r.LostPartitions) > 0:
		r.Stopped = StopShardLost
	case n.plan.request.Ranked != nil:
		r.Stopped = StopMatchLimit
	case n.exceeded.Load():
		r.Stopped = StopMemoryLimit
	case n.scanExceeded.Load():
		r.Stopped = StopScanLimit
	case n.halted.Load():
		r.Stopped = StopTimeLimit
	case n.damaged.Load():
		r.Stopped = StopDamaged
	default:
		r.Stopped = n.plan.request.Incomplete
	}
	r.Exhaustive = r.Stopped == StopNone
	e := &r.Evidence
	e.Complete = r.Exhaustive || r.Stopped == StopMatchLimit && r.LostPartitions == nil && n.mu.count <= n.plan.enough && !n.mu.ended
	if e.Complete {
		e.Looked = n.mu.count
	}
	if n.plan.remote == nil {
		n.countSegments(&r.Stats)
	}
}

// countSegments counts the segments that were visited and those that were not, and the
// files that the search did not reach.
func (n *searchRun) countSegments(s *Stats) {
	steps, reached := len(n.mu.done), n.mu.next
	for i := range n.plan.segments {
		looked, considered, task := false, 0, i
		for ; task < steps; task += len(n.plan.segments) {
			looked = looked || n.mu.done[task].looked
			considered += n.mu.done[task].considered
		}
		if looked {
			s.Segments++
		} else {
			s.SegmentsSkipped++
		}
		if last := task - len(n.plan.segments); last >= reached {
			s.FilesSkipped += max(n.plan.segments[i].Places.Len()-considered, 0)
		}
	}
}
