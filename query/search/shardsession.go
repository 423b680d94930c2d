package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/search/internal/admission"
	"github.com/quarrysearch/quarry/schemas/code"
)

// errShardOrder means that a call of a session lacks the one that it continues, and
// errShardCall that a call has values that no front sends.
var (
	errShardOrder = errors.New("a call of a shard is out of order")
	errShardCall  = errors.New("a call of a shard is malformed")
)

// ShardSession serves the calls of a front from one view. It implements Shard, so a front
// may search views of its process.
type ShardSession struct {
	s          *Searcher
	view       corpus.View
	partitions []int32
	public     func(*code.Repository) bool
	done       chan struct{} // closed by Close
	close      func()
	missing    int         // ShardState.Missing
	search     *partSearch // nil if none is running
	names      *NameSearch // of the last call for near names, nil before
}

var _ Shard = (*ShardSession)(nil)

// NewShardSession returns a session with a view of some partitions, which Close releases.
// public is Request.Public of its searches.
func (s *Searcher) NewShardSession(view corpus.View, partitions []int32, public func(*code.Repository) bool) *ShardSession {
	h := &ShardSession{s: s, view: view, partitions: partitions, public: public, done: make(chan struct{})}
	h.close = sync.OnceFunc(func() { close(h.done) })
	return h
}

// SetMissing sets the number of documents that the view lacks. It is called before the first
// call, by the owner of a view that counts them and is wrapped.
func (h *ShardSession) SetMissing(documents int) { h.missing = documents }

// Partitions implements Shard.
func (h *ShardSession) Partitions() []int32 { return h.partitions }

// Close implements Shard.
func (h *ShardSession) Close() {
	h.close()
	h.endSearch()
	h.view.Release()
}

// Call implements Shard.
func (h *ShardSession) Call(ctx context.Context, c *ShardCall) (reply *ShardReply, err error) {
	if !c.isValid() {
		return nil, errShardCall
	}
	reply = &ShardReply{}
	switch {
	case c.Open:
		reply.Open = h.describeState()
	case c.Begin != nil:
		reply.Begin, err = h.beginSearch(ctx, c.Begin)
	case c.Refs:
		reply.Refs, err = h.listRefs(ctx)
	case c.Names != nil:
		reply.Names, err = h.findNearNames(ctx, c.Names)
	case c.Named != nil:
		reply.Named = match.MayBeNamed(h.view, c.Named)
	case c.Frames != nil:
		reply.Frames, err = h.locateFrames(ctx, c.Frames)
	case c.Places != nil:
		reply.Places, err = h.inspectPlaces(ctx, c.Places)
	case c.Letters != nil:
		reply.Found, err = h.findFiles(ctx, c.Letters)
	case c.End:
		h.endSearch()
	case h.search == nil:
		return nil, errShardOrder
	case c.Survey != nil:
		reply.Survey, err = h.search.surveySegments(ctx, c.Survey)
	case c.Rank != nil:
		reply.Rank, err = h.search.rankDocuments(ctx, c.Rank)
	case c.Visit != nil:
		reply.Visit, err = h.search.visitSegments(ctx, c.Visit)
	case c.Score != nil:
		reply.Files, err = h.search.scoreFiles(ctx, c.Score)
	case c.Render != nil:
		reply.Files, err = h.search.renderFiles(ctx, c.Render)
	default:
		return nil, errShardOrder
	}
	return reply, err
}

func (h *ShardSession) describeState() *ShardState {
	state := &ShardState{Restricted: corpus.Restricted(h.view), Missing: h.missing}
	for _, r := range h.view.Repositories() {
		if r != nil {
			state.Repositories = append(state.Repositories, r)
		}
	}
	if past, ok := h.view.(interface{ AsOf() string }); ok {
		state.AsOf = past.AsOf()
	}
	return state
}

func (h *ShardSession) listRefs(ctx context.Context) (refs []ShardRef, err error) {
	_, _, err = h.view.Revisions(ctx, func(r *corpus.Repository, ref code.Ref) bool {
		refs = append(refs, ShardRef{r.ID, ref})
		return false // no files are read
	})
	return refs, err
}

// partSearch is the part of a search in one shard. It has a slot only during a call. A search
// that kept its slot between calls could wait at another shard for a search that waits for this
// slot, and a front that hangs would keep it.
type partSearch struct {
	s        *Searcher
	run      *searchRun
	ticket   *admission.Ticket // of the last phase
	builder  *resultBuilder    // nil before Visit
	done     <-chan struct{}   // closed when the session ends
	deadline time.Time
}

// beginSearch plans a search.
func (h *ShardSession) beginSearch(ctx context.Context, b *ShardBegin) (*ShardPlan, error) {
	h.endSearch()
	ticket, err := h.s.admission.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer ticket.Leave()
	r := b.toRequest()
	r.Public = h.public
	plan, err := h.s.planSearch(ctx, h.view, r)
	if err != nil {
		return nil, err
	}
	plan.orderTasks(h.s.maxDisplay())
	run := newSearchRun(plan, h.s.memory.NewBudget(h.s.options.MaxMemoryBytes))
	run.maxScanBytes = h.s.options.MaxScanBytes
	h.search = &partSearch{s: h.s, run: run, done: h.done, deadline: time.Now().Add(r.maxDuration(h.s.options.MaxDuration))}
	p := &ShardPlan{}
	for i := range plan.segments {
		seg := ShardSegment{Partition: plan.segments[i].Partition, Blocks: plan.segments[i].Reader.Blocks()}
		if i < len(plan.costs) {
			seg.Lists = plan.costs[i].Lists
		}
		p.Segments = append(p.Segments, seg)
	}
	return p, nil
}

// endSearch releases what a search holds.
func (h *ShardSession) endSearch() {
	if h.search == nil {
		return
	}
	h.search.run.memory.ReleaseAll()
	if b := h.search.builder; b != nil {
		b.worker.End()
		if err := b.close(); err != nil {
			h.search.run.skipDamaged(noSegment, err)
		}
	}
	h.search = nil
}

// toRequest returns the request of a part.
func (b *ShardBegin) toRequest() Request {
	return Request{
		Query: b.Query, Matches: b.Matches, Display: b.Display, ContextLines: b.ContextLines, JoinLines: b.JoinLines, Whole: b.Whole, Explain: b.Explain, Facets: b.Facets,
		WithoutAdvice: true, AnyMatch: b.AnyMatch, Line: b.Line, FirstOfFile: b.FirstOfFile, LeafPoints: b.LeafPoints, Documents: documentsOf(b.Documents),
		Ranked: b.Ranked, TimeLimit: b.TimeLimit, isPart: true, restricted: b.Restricted,
	}
}

// newShardBegin returns the request of a part as a call.
func newShardBegin(r *Request, restricted bool) *ShardBegin {
	b := &ShardBegin{
		Query: r.Query, Matches: r.Matches, Display: r.Display, ContextLines: r.ContextLines, JoinLines: r.JoinLines, Whole: r.Whole, Explain: r.Explain, Facets: r.Facets,
		AnyMatch: r.AnyMatch, Line: r.Line, FirstOfFile: r.FirstOfFile, LeafPoints: r.LeafPoints, Ranked: r.Ranked, TimeLimit: r.TimeLimit, Restricted: restricted,
	}
	for _, d := range r.Documents {
		b.Documents = append(b.Documents, ShardDocument{Segment: d.Segment, Document: d.Doc})
	}
	return b
}

func documentsOf(all []ShardDocument) (documents []DocumentID) {
	for _, d := range all {
		documents = append(documents, DocumentID{d.Segment, d.Document})
	}
	return documents
}

// runPhase runs one phase of the search on its pool of workers, once there is a slot for it.
func (p *partSearch) runPhase(ctx context.Context, phase func(pool *workerPool, first *worker)) (err error) {
	if p.ticket, err = p.s.admission.Enter(ctx); err != nil {
		return err
	}
	defer p.ticket.Leave()
	return p.run.runPool(ctx, time.Until(p.deadline), p.ticket, p.s.helpers, func(pool *workerPool) {
		first := pool.newWorker(nil)
		defer first.endWorker()
		phase(pool, first)
	})
}

// surveySegments counts the candidates.
func (p *partSearch) surveySegments(ctx context.Context, c *ShardSurvey) (*ShardCandidates, error) {
	n := p.run
	n.plan.schedule.orderThreshold, n.plan.schedule.allSegments, n.plan.scope.Rarity = c.Threshold, c.Segments, c.Rarity
	if !n.plan.needsSurvey {
		return &ShardCandidates{}, nil
	}
	err := p.runPhase(ctx, func(pool *workerPool, first *worker) {
		pool.runParallel(first, 0, len(n.plan.segments), n.surveySegment)
	})
	if err != nil {
		return nil, err
	}
	found := &ShardCandidates{Candidates: n.mu.candidates}
	if n.plan.ranked != nil {
		terms := n.countTermBlocks()
		found.Blocks, found.Terms = terms.Blocks, terms.Lists
	}
	return found, nil
}

// rankDocuments returns the best documents of a ranked search.
func (p *partSearch) rankDocuments(ctx context.Context, weights []float64) (ranked []ShardDocument, err error) {
	n := p.run
	if n.plan.ranked == nil || len(weights) != len(n.plan.ranked) {
		return nil, errShardOrder
	}
	err = p.runPhase(ctx, func(_ *workerPool, first *worker) {
		for _, d := range n.bestDocuments(first.searcher, weights) {
			ranked = append(ranked, ShardDocument{Segment: d.Segment, Document: d.Doc, Worth: d.worth, Repository: d.at.repo.ID, Path: d.at.path})
		}
	})
	return ranked, err
}

// visitSegments searches the segments.
func (p *partSearch) visitSegments(ctx context.Context, c *ShardVisit) (*ShardHits, error) {
	n := p.run
	if p.builder != nil {
		return nil, errShardOrder
	}
	if n.plan.ranked != nil {
		n.visitDocumentsFirst(documentsOf(c.Documents))
	} else if n.plan.needsSurvey {
		n.plan.schedule.applySurvey(n.plan.scope, c.Candidates)
	}
	n.setTasks()
	err := p.runPhase(ctx, func(pool *workerPool, first *worker) { pool.visitTiers(first, n.visitTask) })
	if err != nil {
		return nil, err
	}
	turn := p.ticket.Worker(p.done)
	turn.Pause()
	p.builder = newResultBuilder(n, turn, p.s.options.MaxResultBytes)
	found := &ShardHits{Halted: n.halted.Load(), Exceeded: n.exceeded.Load(), ScanExceeded: n.scanExceeded.Load(), Damaged: n.damaged.Load(), Stats: n.mu.stats}
	n.countSegments(&found.Stats)
	a := n.plan.schedule
	end := p.builder.endTask()
	for i, task := range n.mu.done[:end] {
		if len(task.hits) == 0 && task.considered == 0 {
			continue
		}
		t := ShardTask{Number: i, Tier: i / a.segments / a.bands, Segment: i % a.segments, Count: task.count, Considered: task.considered, Ended: task.ended, Hits: make([]ShardHit, len(task.hits))}
		for k := range task.hits {
			t.Hits[k] = n.shardHit(&task.hits[k])
		}
		found.Tasks = append(found.Tasks, t)
	}
	if n.mu.explain != nil {
		found.Explain = n.mu.explain[:min(len(n.mu.explain), end)]
	}
	return found, nil
}

// shardHit returns a hit without its matches.
func (n *searchRun) shardHit(h *hit) ShardHit {
	out := ShardHit{Count: h.Count, Matches: h.showableMatches(), Near: uint8(n.nearnessOf(h)), Estimate: h.estimatedScore}
	if len(h.Matches) == 0 && h.dropped == 0 {
		out.Matches = 0 // by its path
	}
	if n.needsFiles() {
		file := n.fileOfHit(h, n.wantedTraits())
		file.Repository = n.plan.scope.Repos[n.repoOf(h)].ID
		out.File = &file
	}
	return out
}

// needsFiles reports whether the front needs the file of each hit.
func (n *searchRun) needsFiles() bool {
	return n.ordersByFile() || n.plan.request.Facets || n.plan.scope.Query.ListsRepositories()
}

// wantedTraits returns the conditions of facetTraits, if the search counts facets.
func (n *searchRun) wantedTraits() []func(seg corpus.Segment, place int) bool {
	if !n.plan.request.Facets {
		return nil
	}
	tests := traitTests()
	return tests[:]
}

// hitOf returns a copy of a hit, whose matches may be changed.
func (p *partSearch) hitOf(id ShardHitID) (*hit, error) {
	if id.Task < 0 || id.Task >= len(p.run.mu.done) || id.Hit < 0 || id.Hit >= len(p.run.mu.done[id.Task].hits) {
		return nil, fmt.Errorf("%w: there is no hit %d in task %d", errShardOrder, id.Hit, id.Task)
	}
	h := p.run.mu.done[id.Task].hits[id.Hit]
	h.Matches = slices.Clone(h.Matches)
	return &h, nil
}

// scoreFiles returns the files of hits without text.
func (p *partSearch) scoreFiles(ctx context.Context, ids []ShardHitID) (*ShardFiles, error) {
	if p.builder == nil {
		return nil, errShardOrder
	}
	hits := make([]*hit, len(ids))
	for i, id := range ids {
		var err error
		if hits[i], err = p.hitOf(id); err != nil {
			return nil, err
		}
	}
	p.builder.worker.Resume()
	defer p.builder.worker.Pause()
	files, err := p.builder.scoreHits(ctx, hits)
	if err != nil {
		return nil, err
	}
	out := &ShardFiles{Files: make([]ShardFile, len(files)), DefinesMatch: p.builder.renderer.definesMatch, Damaged: p.run.damaged.Load()}
	for i, f := range files {
		if f == nil {
			out.Files[i].Skipped = true
			continue
		}
		out.Files[i] = newShardFile(f)
	}
	return out, nil
}

// renderFiles returns the files of hits with their matches.
func (p *partSearch) renderFiles(ctx context.Context, quotas []ShardQuota) (*ShardFiles, error) {
	a := p.builder
	if a == nil {
		return nil, errShardOrder
	}
	a.worker.Resume()
	defer a.worker.Pause()
	order := make([]int, len(quotas))
	for i := range order {
		order[i] = i
	}
	segments := p.run.plan.schedule.segments
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Compare(quotas[x].ID.Task%max(segments, 1), quotas[y].ID.Task%max(segments, 1))
	})
	out := &ShardFiles{Files: make([]ShardFile, len(quotas))}
	before := a.result.Stats
	for _, i := range order {
		h, err := p.hitOf(quotas[i].ID)
		if err != nil {
			return nil, err
		}
		if p.run.showsBestOnly() {
			err = a.cutMatches(h, quotas[i].Matches)
		} else {
			h.Matches = h.Matches[:min(len(h.Matches), quotas[i].Matches)]
		}
		if err != nil {
			return nil, err
		}
		a.result.Files = a.result.Files[:0]
		if err := a.renderHit(ctx, h); err != nil {
			return nil, err
		}
		if len(a.result.Files) == 0 {
			out.Files[i].Skipped = true
			continue
		}
		out.Files[i] = newShardFile(&a.result.Files[0])
	}
	out.DefinesMatch, out.Damaged = a.renderer.definesMatch, p.run.damaged.Load()
	out.Stats = Stats{Rendering: a.result.Stats.Rendering - before.Rendering, ContentBytes: a.renderer.loadedBytes()}
	return out, nil
}

// newShardFile returns a file with what package gob cannot encode next to it.
func newShardFile(f *FileMatch) ShardFile {
	out := ShardFile{File: *f, Document: ShardDocument{Segment: f.document.Segment, Document: f.document.Doc}, Size: f.size, Displayed: f.displayed}
	out.Repository, out.File.Repo = f.Repo.ID, nil
	out.File.Chunks = slices.Clone(f.Chunks)
	for i, c := range f.Chunks {
		for k, s := range c.Symbols {
			if s != nil {
				out.Symbols = append(out.Symbols, ShardSymbol{i, k, *s})
			}
		}
		out.File.Chunks[i].Symbols = nil
	}
	return out
}

// restoreFile returns the file as it was, in the given repository.
func (f *ShardFile) restoreFile(repo *corpus.Repository) *FileMatch {
	out := &f.File
	out.Repo, out.size, out.displayed = repo, f.Size, f.Displayed
	out.document = DocumentID{f.Document.Segment, f.Document.Document}
	for i := range f.Symbols {
		s := &f.Symbols[i]
		if s.Chunk < 0 || s.Chunk >= len(out.Chunks) || s.Range < 0 || s.Range >= len(out.Chunks[s.Chunk].Ranges) {
			continue
		}
		c := &out.Chunks[s.Chunk]
		if c.Symbols == nil {
			c.Symbols = make([]*code.Symbol, len(c.Ranges))
		}
		c.Symbols[s.Range] = &s.Symbol
	}
	return out
}

// inspectPlaces returns facts about the places that a query selects.
func (h *ShardSession) inspectPlaces(ctx context.Context, c *ShardPlaces) (*ShardPlaceFacts, error) {
	plan, err := h.s.planSearch(ctx, h.view, Request{Query: c.Query, Public: h.public, isPart: true, restricted: c.Restricted})
	if err != nil {
		return nil, err
	}
	ticket, err := h.s.admission.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer ticket.Leave()
	in := h.s.newNoticeFinder(h.view, plan, c.Empty)
	in.worker, in.began = ticket.Worker(ctx.Done()), time.Now()
	defer in.worker.End()
	in.selectRepositories()
	if c.All {
		for i, r := range in.scope.Repos {
			in.selected[i] = r != nil
		}
	} else if in.count == 0 {
		clear(in.selected) // another shard has repositories that are selected
	}
	if c.Near != "" {
		return &ShardPlaceFacts{Near: in.nearPaths(ctx, c.Near)}, nil
	}
	return in.placeFacts(), nil
}

// locateFrames returns the files of frames in the places that a query selects.
func (h *ShardSession) locateFrames(ctx context.Context, c *ShardFrames) ([]ShardFrameFiles, error) {
	return h.s.locateFrames(ctx, h.view, c, Request{Query: c.Query, Public: h.public, isPart: true})
}

// findFiles returns the best files whose paths contain letters.
func (h *ShardSession) findFiles(ctx context.Context, c *ShardLetters) (*ShardFoundFiles, error) {
	if c.Letters == "" || len(c.Letters) > MaxFileLetters || c.Keep < 1 || c.Keep > 4*MaxFoundFiles {
		return nil, fmt.Errorf("find files: %d letters, keep %d: out of bounds", len(c.Letters), c.Keep)
	}
	f := &fileFinder{letters: c.Letters, rare: rareLetters(c.Letters), keep: c.Keep, only: c.Repository, repos: h.view.Repositories()}
	if err := h.s.findKeptFiles(ctx, h.view, f); err != nil {
		return nil, err
	}
	f.keepBest()
	found := &ShardFoundFiles{Total: f.total}
	for _, k := range f.kept {
		found.Files = append(found.Files, ShardFoundFile{k.score, k.repo.ID, k.path})
	}
	return found, nil
}
