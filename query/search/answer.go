package search

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/internal/memory"
	"github.com/quarrysearch/quarry/query/internal/ranking"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/query/syntax"
)

// resultBuilder builds a result from the hits of the segment searchers. It takes hits in
// task order, regardless of the order in which they were found.
type resultBuilder struct {
	run            *searchRun
	worker         *admission.Worker // of the goroutine that renders
	renderer       *renderer
	result         *Result
	room           int             // matches that may still be shown
	matchesTaken   int             // matches taken so far
	seen           map[uint32]bool // repositories seen, if the answer lists repositories
	nextTask       int             // task to take from
	repositoryHits []hit           // set if the answer lists repositories
	allHits        []hit           // all hits, if only those of the best files are shown
	facets         *facets         // nil if not requested
	near           match.Proximity // best of the hits
	inCode         bool            // some file is not prose
	inChangelog    bool            // some file is a changelog
	rendered       int             // files shown
	// explained holds the scores of the files shown.
	explained []FileExplain
}

// maxFilesExplained bounds the files whose scores are explained.
const maxFilesExplained = 100

func newResultBuilder(n *searchRun, w *admission.Worker, maxBytes int64) *resultBuilder {
	a := &resultBuilder{
		run: n, worker: w, renderer: newRenderer(n, maxBytes), room: n.plan.display,
		result: &Result{Exhaustive: true}, seen: make(map[uint32]bool),
	}
	if n.plan.request.Facets && n.plan.scope.Query.SelectKind != syntax.SelectRepo {
		a.facets = newFacets(n)
	}
	return a
}

func (a *resultBuilder) close() error {
	match.ReleaseOutline(a.renderer.outline)
	a.renderer.outline = nil
	return a.renderer.cursor.Close()
}

// build assembles the answer from the hits that work finds. With a nil emit it does so
// when work ends; otherwise it emits parts while work runs. The result holds memory of
// the search until it is released.
func (a *resultBuilder) build(ctx context.Context, work func(context.Context) error, emit Emit) (err error) {
	if emit == nil {
		err = a.buildAtEnd(ctx, work)
	} else {
		err = a.streamParts(ctx, work, emit)
	}
	if closed := a.close(); !a.run.skipDamaged(noSegment, closed) {
		err = errors.Join(err, closed)
	}
	held := a.run.memory
	if err != nil || emit != nil {
		held.ReleaseAll()
	}
	if err != nil {
		return err
	}
	e := &a.result.Evidence
	e.Shown, e.Ranked, e.DefinesMatch = a.rendered, a.run.plan.request.Ranked != nil, a.renderer.definesMatch
	e.InCode, e.InChangelog = a.inCode, a.inChangelog
	e.NearTerms, e.CloseTerms = a.near > match.NearNot, a.near >= match.NearLines3
	a.result.memory = held
	if emit == nil && held.UsesPool() {
		runtime.AddCleanup(a.result, (*memory.Budget).ReleaseAll, held) // for callers that forget Release
	}
	return nil
}

// buildAtEnd builds the answer after the work has ended.
func (a *resultBuilder) buildAtEnd(ctx context.Context, work func(context.Context) error) error {
	if err := work(ctx); err != nil {
		return err
	}
	a.worker.Resume()
	shown, err := a.takeRest(ctx)
	if err != nil {
		return err
	}
	if err := a.renderAll(ctx, shown); err != nil {
		return err
	}
	a.completeResult()
	a.sortFiles()
	return nil
}

// renderAll renders the files of an answer. It renders the files of a segment together,
// unless their order decides which of them fit into the answer.
func (a *resultBuilder) renderAll(ctx context.Context, shown []hit) error {
	a.result.Files = make([]FileMatch, 0, len(shown))
	if a.run.plan.remote != nil {
		return a.renderRemote(ctx, shown)
	}
	if !a.run.ordersByFile() {
		return a.renderHits(ctx, shown)
	}
	left, stats := a.renderer.bytesLeft, a.result.Stats
	bySegment := slices.Clone(shown)
	slices.SortStableFunc(bySegment, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.Place, b.Place))
	})
	if err := a.renderHits(ctx, bySegment); err != nil || a.renderer.bytesLeft > 0 {
		return err
	}
	for i := range a.result.Files {
		a.run.memory.Reserve(-a.result.Files[i].size)
	}
	a.renderer.bytesLeft, a.result.Stats, a.result.Files, a.explained = left, stats, a.result.Files[:0], nil
	if a.facets != nil {
		a.facets.kinds = facetCounter[string]{}
	}
	return a.renderHits(ctx, shown)
}

func (a *resultBuilder) renderHits(ctx context.Context, shown []hit) error {
	for i := range shown {
		if err := a.renderHit(ctx, &shown[i]); err != nil {
			return err
		}
	}
	return nil
}

// endTask returns the task after the last one that counts. The work must be done.
func (a *resultBuilder) endTask() int { return min(len(a.run.mu.done), int(a.run.cutoff.Load())+1) }

// takeHits returns the hits to show from the tasks before to.
func (a *resultBuilder) takeHits(to int) []hit {
	var shown []hit
	stats := &a.result.Stats
	for a.nextTask < to {
		// All definitions count for the choice, even if the first ones exceed the limit.
		_, t := a.run.plan.schedule.taskAt(a.nextTask)
		all := t == tierDefines && len(a.run.plan.schedule.names) == 1 && a.run.showsBestOnly() && !a.run.ordersByFile()
		for _, h := range a.run.distinctHits(a.nextHits(to), a.seen) {
			if a.matchesTaken > a.run.plan.limit && !all {
				break
			}
			a.matchesTaken += h.Count
			if h.Near > a.near {
				a.near = max(a.near, a.run.nearnessOf(&h))
			}
			if stats.Matches <= a.run.plan.request.Matches {
				stats.Matches += h.Count
				stats.Files++
				if a.facets != nil {
					a.facets.addHit(&h)
				}
			}
			if a.run.showsBestOnly() {
				a.allHits = append(a.allHits, h)
			} else if a.room > 0 {
				shown, a.room = appendShown(shown, h, a.room)
			}
		}
	}
	if a.run.plan.scope.Query.SelectKind == syntax.SelectRepo {
		a.repositoryHits = append(a.repositoryHits, shown...)
		return nil
	}
	return shown
}

// nextHits returns the hits of the next task before to, or those of all tasks of a band
// in file order.
func (a *resultBuilder) nextHits(to int) (hits []hit) {
	done, last := a.run.mu.done, a.nextTask
	if a.run.ordersByFile() {
		last = min(a.run.plan.schedule.lastOfBand(a.nextTask), to-1)
	}
	for ; a.nextTask <= last; a.nextTask++ {
		hits = append(hits, done[a.nextTask].hits...)
		done[a.nextTask].hits = nil
	}
	if a.run.ordersByFile() {
		a.run.sortHits(hits)
	}
	return hits
}

// takeRest returns the hits to show from the remaining tasks, after the work has ended.
func (a *resultBuilder) takeRest(ctx context.Context) ([]hit, error) {
	shown := a.takeHits(a.endTask())
	if a.run.showsBestOnly() {
		return a.pickShown(ctx)
	}
	return shown, nil
}

// appendShown appends a hit, cut to the remaining room.
func appendShown(shown []hit, h hit, room int) ([]hit, int) {
	h.Matches = h.Matches[:min(len(h.Matches), room)]
	return append(shown, h), room - max(len(h.Matches), 1)
}

// renderHit adds the file of a hit to the result, if it has room for it.
func (a *resultBuilder) renderHit(ctx context.Context, h *hit) error {
	a.worker.Step()
	if err := ctx.Err(); err != nil || a.renderer.bytesLeft <= 0 {
		return err
	}
	before, started := a.renderer.bytesLeft, time.Now()
	f, err := a.renderer.renderFile(h)
	if a.run.skipDamaged(h.segment, err) {
		return nil // the answer cannot show it
	}
	if err != nil {
		return err
	}
	if !a.run.memory.Reserve(before - a.renderer.bytesLeft) {
		a.renderer.bytesLeft = 0 // there is no room for this file or any later one
		return nil
	}
	a.result.Stats.Rendering += time.Since(started)
	f.size, f.displayed = before-a.renderer.bytesLeft, max(len(h.Matches), 1)
	a.addFile(f)
	return nil
}

// addFile adds a rendered file to the result.
func (a *resultBuilder) addFile(f FileMatch) {
	a.result.Stats.Displayed += f.displayed
	a.result.Files = append(a.result.Files, f)
	a.rendered++
	a.inCode = a.inCode || !ranking.IsProse(f.Language, f.Path)
	a.inChangelog = a.inChangelog || ranking.IsChangelog(f.Language, f.Path)
	if a.facets != nil && a.run.plan.request.Query.Type == syntax.TypeSymbol {
		a.facets.addFile(&f)
	}
	if a.run.plan.request.Explain {
		a.explained = append(a.explained, FileExplain{Repository: f.Repo.Name, Path: f.Path, Score: f.Score, Reasons: f.Reasons})
	}
}

// completeResult completes the result after all files are rendered.
func (a *resultBuilder) completeResult() {
	n, r := a.run, a.result
	r.Stats.Add(&n.mu.stats)
	if n.plan.request.Explain {
		r.Explain = n.explainTasks(a.endTask())
		slices.SortStableFunc(a.explained, func(a, b FileExplain) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Path, b.Path))
		})
		r.Explain.Files = a.explained[:min(len(a.explained), maxFilesExplained)]
	}
	n.setStopReason(r)
	if n.plan.scope.Query.SelectKind == syntax.SelectRepo {
		n.listRepositories(r, a.repositoryHits)
		return
	}
	if a.renderer.bytesLeft <= 0 && r.Stopped == StopNone && r.Stats.Displayed < min(r.Stats.Matches, n.plan.display) {
		r.Stopped = StopByteLimit
		if n.memory.Exceeded() {
			r.Stopped = StopMemoryLimit
		}
	}
	r.Stats.ContentBytes += a.renderer.loadedBytes()
	if a.facets != nil {
		r.Facets = a.facets.list(r.Exhaustive, r.Stats.Displayed >= r.Stats.Matches)
	}
}

// sortFiles sorts the files, best first.
func (a *resultBuilder) sortFiles() {
	started := time.Now()
	slices.SortStableFunc(a.result.Files, func(a, b FileMatch) int { return CompareMatches(&a, &b) })
	a.result.Stats.Ranking += time.Since(started)
}

// CompareMatches orders the files of an answer by descending score, then by name. It uses
// Score, Repo, Path and Ref.
func CompareMatches(a, b *FileMatch) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Repo.Name, b.Repo.Name), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Ref, b.Ref))
}

// nearnessOf returns the proximity of the terms in a file. A changelog has none: its entries
// have the words of a change close together, and are not where the change is.
func (n *searchRun) nearnessOf(h *hit) match.Proximity {
	if h.Near > match.NearNot && n.plan.remote == nil {
		s := &n.plan.segments[h.segment]
		if ranking.IsChangelog(s.Reader.Language(h.Doc), string(s.Places.Path(h.Place))) {
			return match.NearNot
		}
	}
	return h.Near
}
