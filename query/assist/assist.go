package assist

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// Searcher answers requests with the searches of an engine. It is safe for concurrent use.
type Searcher struct {
	engine  *search.Searcher
	metrics *readingMetrics
}

// New returns a Searcher. It registers its metrics with reg, unless that is nil.
func New(engine *search.Searcher, reg prometheus.Registerer) *Searcher {
	return &Searcher{engine, newReadingMetrics(reg)}
}

// Search answers a request with the most likely reading of its query. It fails with the
// errors of the engine.
func (s *Searcher) Search(ctx context.Context, view corpus.View, r search.Request) (*search.Result, error) {
	a := s.newAnswerer(view)
	return a.answer(ctx, r, nil)
}

// Stream is like Search, but passes the files to emit in parts, as the engine does.
func (s *Searcher) Stream(ctx context.Context, view corpus.View, r search.Request, emit search.Emit) (*search.Result, error) {
	a := s.newAnswerer(view)
	if !r.Related {
		return a.answer(ctx, r, emit)
	}
	return a.answer(ctx, r, func(files []search.FileMatch, stats search.Stats) error {
		for i := range files[:min(len(files), maxMatchesToRelate-len(a.emitted))] {
			a.emitted = append(a.emitted, keyOf(&files[i]))
		}
		return emit(files, stats)
	})
}

func (s *Searcher) newAnswerer(view corpus.View) *answerer {
	return &answerer{engine: s.engine, metrics: s.metrics, view: view, duration: s.engine.MaxDuration()}
}

// answerer answers one request, in one goroutine.
type answerer struct {
	engine  *search.Searcher
	metrics *readingMetrics
	view    corpus.View
	// duration is the maximum time of a search. Other readings of a query may take a
	// fraction of it, and hurried reports whether one of them needed more and found nothing.
	duration time.Duration
	hurried  bool
	// notice names the part of the query for which there was no time; nil if there is none.
	notice *syntax.Notice
	// probes are the searches in addition to the requested one, and emitted the first files
	// that a stream has emitted.
	probes  []search.ProbeExplain
	emitted []fileID
}

// answer answers the request.
func (a *answerer) answer(ctx context.Context, r search.Request, emit search.Emit) (answered *search.Result, err error) {
	ctx, span := tracing.Start(ctx, "assist")
	defer func() { span.End(err) }()
	started := time.Now()
	a.engine.ChooseContexts(a.view, r.Query)
	r, costs, err := a.resolvePredicates(ctx, r)
	if err != nil {
		return nil, err
	}
	prose := readProse(&r)
	result, err := a.chooseReading(ctx, r, prose, emit)
	if err != nil {
		return nil, err
	}
	if r.Related && prose != nil && !result.Evidence.Ranked {
		a.addWords(ctx, r, result, prose)
	}
	if a.notice != nil {
		insertNotice(result, *a.notice)
	}
	if a.hurried && result.Stats.Matches == 0 && result.Exhaustive {
		result.Exhaustive, result.Stopped = false, search.StopTimeLimit // another reading may have a match
		if result.Explain != nil {
			result.Explain.Stopped = search.StopTimeLimit
		}
	}
	took := time.Since(started)
	if result.CostsHidden {
		took = 0
	} else {
		result.Stats.Add(&costs)
	}
	result.Stats.Duration = took
	if result.Explain != nil {
		result.Explain.Stages.TotalMicros, result.Explain.Probes = took.Microseconds(), a.probes
	}
	return result, nil
}

// shareOfTime returns a fraction of the maximum time of a search.
func (a *answerer) shareOfTime(n time.Duration) time.Duration { return max(a.duration/n, 1) }

// search runs a search, after those for the predicates of its query, which count as its work
// and its time.
func (a *answerer) search(ctx context.Context, r search.Request, emit search.Emit) (*search.Result, error) {
	started := time.Now()
	r, costs, err := a.resolvePredicates(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.TimeLimit > 0 {
		r.TimeLimit = max(r.TimeLimit-time.Since(started), 1)
	}
	result, err := a.engine.Stream(ctx, a.view, r, emit)
	if err == nil && !result.CostsHidden {
		result.Stats.Add(&costs)
	}
	return result, err
}

// probe runs a search in addition to the requested one.
func (a *answerer) probe(ctx context.Context, r search.Request, emit search.Emit) (*search.Result, error) {
	result, err := a.search(ctx, r, emit)
	if err == nil && len(a.probes) < search.MaxProbes {
		a.probes = append(a.probes, search.ProbeExplain{
			Query: r.Query.Root.String(), Matches: result.Stats.Matches, Micros: result.Stats.Duration.Microseconds(),
		})
	}
	return result, err
}
