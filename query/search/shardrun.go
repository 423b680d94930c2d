package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/match"
)

// A search of several shards runs as one of a single view does. Only the work on segments is
// done by the shards, and each step goes to all of them in parallel:
//
//	begin    each shard compiles the query and lists its segments. All segments together,
//	         in the order of partitions, are those of a view of the whole index
//	survey   the front adds up the candidates. It weighs the terms by all segments
//	rank     the best documents of a ranked search are the best of those of all shards
//	visit    each shard visits its tasks, in order, until it alone has found enough. So its
//	         hits include all that count: the tasks up to the one at which all shards
//	         together have enough
//	choose   the front takes the hits in the order of all tasks, as it does in a single
//	         view, and lets the shards score the best
//	render   each shard renders the chosen files, which the front sorts
//
// A shard that is lost on the way is left out; Result.LostPartitions says so.

// shardGrace is the time by which a shard may exceed the time limit of a search before it
// is lost.
const shardGrace = 2 * time.Second

// remoteRun is the part of a searchRun that shards do.
type remoteRun struct {
	view     *shardedView
	deadline time.Time
	// segments are those of all shards, in order, with their index in each shard; costs are
	// those of the first.
	segments []remoteSegment
	numbers  [][]int // by shard and index, the position in segments
	costs    []match.ListCosts
	blocks   int
	hits     []remoteHit // by hit.place
}

type remoteSegment struct {
	shard, index int
	ShardSegment
}

// remoteHit is a hit of a shard.
type remoteHit struct {
	shard int
	id    ShardHitID
	repo  uint32
	file  *ShardHitFile // nil if it is not needed
}

// compareHits compares the positions of two hits.
func (m *remoteRun) compareHits(sc *match.Scope, a, b *hit) int {
	position := func(h *hit) filePosition {
		p := filePosition{repo: sc.Repos[m.hits[h.Place].repo]}
		if !sc.Query.ListsRepositories() {
			p.path = m.hits[h.Place].file.Path
		}
		return p
	}
	return cmp.Or(comparePositions(position(a), position(b)), cmp.Compare(m.hits[a.Place].file.Ref, m.hits[b.Place].file.Ref))
}

// callEach sends a call of a search to each shard.
func (m *remoteRun) callEach(ctx context.Context, call func(shard int) *ShardCall, take func(shard int, r *ShardReply)) error {
	within, cancel := context.WithDeadlineCause(ctx, m.deadline.Add(shardGrace), ErrShardLost)
	defer cancel()
	return m.view.callEachWithin(within, call, take)
}

// beginSearch begins a planned search with a time limit.
func (v *shardedView) beginSearch(ctx context.Context, p *searchPlan, limit time.Duration) (*remoteRun, error) {
	m := &remoteRun{view: v, deadline: time.Now().Add(limit), numbers: make([][]int, len(v.shards))}
	begin := newShardBegin(&p.request, p.scope.Restricted)
	err := m.callEach(ctx, func(int) *ShardCall { return &ShardCall{Begin: begin} }, func(i int, r *ShardReply) {
		for k, seg := range r.Begin.Segments {
			m.segments = append(m.segments, remoteSegment{i, k, seg})
		}
		m.numbers[i] = make([]int, len(r.Begin.Segments))
	})
	if err != nil {
		m.endSearch()
		return nil, err
	}
	slices.SortFunc(m.segments, func(a, b remoteSegment) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.shard, b.shard), cmp.Compare(a.index, b.index))
	})
	for n, seg := range m.segments {
		m.numbers[seg.shard][seg.index] = n
		m.blocks += seg.Blocks
		if len(seg.Lists) > 0 && len(seg.Lists) == len(p.scope.Query.Atoms) && n < match.MaxRaritySegments {
			m.costs = append(m.costs, match.ListCosts{Blocks: seg.Blocks, Lists: seg.Lists})
		}
	}
	return m, nil
}

// endSearch releases what the shards hold. A shard that does not answer ends with its
// session.
func (m *remoteRun) endSearch() {
	ctx, cancel := context.WithTimeout(context.Background(), shardGrace)
	defer cancel()
	_ = m.view.callEach(ctx, func(int) *ShardCall { return &ShardCall{End: true} }, func(int, *ShardReply) {})
}

// runShards lets the shards run all tasks, and takes their hits.
func (n *searchRun) runShards(ctx context.Context) error {
	visit := &ShardVisit{}
	if err := n.surveyShards(ctx, visit); err != nil {
		return err
	}
	n.setTasks()
	found := make([]*ShardHits, len(n.plan.remote.view.shards))
	call := func(int) *ShardCall { return &ShardCall{Visit: visit} }
	err := n.plan.remote.callEach(ctx, call, func(i int, r *ShardReply) { found[i] = r.Visit })
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, f := range found {
		if f != nil {
			n.takeShardHitsLocked(i, f)
		}
	}
	for i := range n.mu.done {
		n.mu.done[i].ok = true
	}
	n.advancePrefixLocked()
	return nil
}

// surveyShards counts the candidates of all shards and sets the order of the tasks, for
// which visit gets what the shards must know.
func (n *searchRun) surveyShards(ctx context.Context, visit *ShardVisit) error {
	survey := &ShardSurvey{Threshold: n.plan.schedule.orderThreshold, Segments: n.plan.schedule.segments, Rarity: n.plan.scope.Rarity}
	var terms []match.ListCosts
	err := n.plan.remote.callEach(ctx, func(int) *ShardCall { return &ShardCall{Survey: survey} }, func(_ int, r *ShardReply) {
		n.mu.candidates += r.Survey.Candidates
		if len(r.Survey.Terms) == len(n.plan.ranked) {
			terms = append(terms, match.ListCosts{Blocks: r.Survey.Blocks, Lists: r.Survey.Terms})
		}
	})
	if err != nil || !n.plan.needsSurvey {
		return err
	}
	if visit.Candidates = n.mu.candidates; n.plan.ranked == nil {
		n.plan.schedule.applySurvey(n.plan.scope, n.mu.candidates)
		return nil
	}
	weights := n.termWeights(terms...)
	n.plan.scope.Ranker = match.NewRanker(n.plan.ranked, weights)
	n.plan.scope.Rarity = weights
	var best []rankedDocument
	err = n.plan.remote.callEach(ctx, func(int) *ShardCall { return &ShardCall{Rank: weights} }, func(_ int, r *ShardReply) {
		for _, d := range r.Rank {
			if repo, ok := n.plan.remote.view.number[d.Repository]; ok {
				best = append(best, rankedDocument{DocumentID{d.Segment, d.Document}, filePosition{n.plan.scope.Repos[repo], d.Path}, d.Worth})
			}
		}
	})
	for _, d := range keepBest(best) {
		visit.Documents = append(visit.Documents, ShardDocument{Segment: d.Segment, Document: d.Doc})
	}
	n.visitDocumentsFirst(nil)
	return err
}

// takeShardHitsLocked takes the hits of a shard as results of the tasks. It leaves out those
// that no shard of this version sends, as damaged, and those whose matches do not fit into
// the memory of the search.
func (n *searchRun) takeShardHitsLocked(shard int, found *ShardHits) {
	m, a := n.plan.remote, n.plan.schedule
	n.mu.stats.Add(&found.Stats)
	for _, flag := range []struct {
		set  bool
		flag interface{ Store(bool) }
	}{{found.Halted, &n.halted}, {found.Exceeded, &n.exceeded}, {found.ScanExceeded, &n.scanExceeded}, {found.Damaged, &n.damaged}} {
		if flag.set {
			flag.flag.Store(true)
		}
	}
	for i, e := range found.Explain {
		if n.mu.explain != nil && i < len(m.numbers[shard]) {
			n.mu.explain[m.numbers[shard][i]] = e
		}
	}
	for _, t := range found.Tasks {
		if t.Tier < 0 || t.Tier >= len(a.tiers) || t.Segment < 0 || t.Segment >= len(m.numbers[shard]) {
			continue
		}
		number := m.numbers[shard][t.Segment]
		d := &n.mu.done[t.Tier*a.segments+number]
		d.count, d.considered, d.ended = d.count+t.Count, d.considered+t.Considered, d.ended || t.Ended
		for k := range t.Hits {
			x := &t.Hits[k]
			r, known := remoteHit{shard: shard, id: ShardHitID{t.Number, k}, file: x.File}, !n.needsFiles()
			if x.File != nil {
				r.repo, known = m.view.number[x.File.Repository]
			}
			if !known || x.Count < 0 || x.Matches < 0 || x.Matches > math.MaxInt32 {
				n.damaged.Store(true)
				continue
			}
			if !n.memory.Reserve(match.HitBytes + int64(x.Matches)*match.MatchBytes) {
				n.exceeded.Store(true)
				continue
			}
			h := hit{segment: number, estimatedScore: x.Estimate, Hit: match.Hit{
				Place: len(m.hits), Count: x.Count, Matches: make([]match.Match, x.Matches), Near: match.Proximity(x.Near),
			}}
			m.hits, d.hits = append(m.hits, r), append(d.hits, h)
		}
	}
}

// callByShard sends a call about some of the hits to their shards. request returns the call
// for the hits at the given positions, and take gets each file with its position. Files of
// lost shards are left out.
func (a *resultBuilder) callByShard(ctx context.Context, hits []int, request func(at []int) *ShardCall, take func(at int, f *FileMatch)) error {
	m := a.run.plan.remote
	at := make([][]int, len(m.view.shards))
	for i, place := range hits {
		at[m.hits[place].shard] = append(at[m.hits[place].shard], i)
	}
	return m.callEach(ctx, func(i int) *ShardCall {
		if len(at[i]) == 0 {
			return nil
		}
		return request(at[i])
	}, func(i int, r *ShardReply) {
		if r.Files.Damaged {
			a.run.damaged.Store(true)
		}
		a.renderer.definesMatch = a.renderer.definesMatch || r.Files.DefinesMatch
		a.result.Stats.ContentBytes += r.Files.Stats.ContentBytes
		a.result.Stats.Rendering += r.Files.Stats.Rendering
		for k := range r.Files.Files[:min(len(r.Files.Files), len(at[i]))] {
			f := &r.Files.Files[k]
			if number, ok := m.view.number[f.Repository]; ok && !f.Skipped {
				take(at[i][k], f.restoreFile(m.view.repos[number]))
			}
		}
	})
}

// scoreRemote returns the files of hits with their scores; nil for one that cannot be read.
func (a *resultBuilder) scoreRemote(ctx context.Context, hits []*hit) ([]*FileMatch, error) {
	places, files := make([]int, len(hits)), make([]*FileMatch, len(hits))
	for i, h := range hits {
		places[i] = h.Place
	}
	a.worker.Pause()
	defer a.worker.Resume()
	err := a.callByShard(ctx, places, func(at []int) *ShardCall {
		c := &ShardCall{}
		for _, i := range at {
			c.Score = append(c.Score, a.run.plan.remote.hits[places[i]].id)
		}
		return c
	}, func(i int, f *FileMatch) { files[i] = f })
	return files, err
}

// renderRemote adds the files of hits to the result, in order, as far as they fit.
func (a *resultBuilder) renderRemote(ctx context.Context, shown []hit) error {
	places, files := make([]int, len(shown)), make([]*FileMatch, len(shown))
	for i := range shown {
		places[i] = shown[i].Place
	}
	a.worker.Pause()
	defer a.worker.Resume()
	err := a.callByShard(ctx, places, func(at []int) *ShardCall {
		c := &ShardCall{}
		for _, i := range at {
			c.Render = append(c.Render, ShardQuota{a.run.plan.remote.hits[places[i]].id, max(len(shown[i].Matches), 1)})
		}
		return c
	}, func(i int, f *FileMatch) { files[i] = f })
	if err != nil {
		return err
	}
	for _, f := range files {
		if a.renderer.bytesLeft <= 0 {
			break
		}
		if f == nil {
			continue
		}
		if a.renderer.bytesLeft -= f.size; !a.run.memory.Reserve(f.size) {
			a.renderer.bytesLeft = 0
			break
		}
		a.addFile(*f)
	}
	return nil
}
