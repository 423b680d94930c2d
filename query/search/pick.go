package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/quarrysearch/quarry/query/internal/ranking"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MinLooked is the minimum number of matches that a search finds before it chooses the ones to
// show.
const MinLooked = 1000

// firstShare is the number of matches that each shown file gets before any file gets
// more, if not all matches are shown. rankedShare is the number in a ranked search, whose
// answer is files: single words on further lines say little.
const firstShare, rankedShare = 10, 3

// pruneSlack is the number of matches above twice its limit that a segmentSearcher keeps
// before it drops the matches of the worst files.
const pruneSlack = 1 << 10

// estimateScore sets the estimate of the score of a hit from the facts known before it is
// rendered.
func (v *segmentSearcher) estimateScore(h *hit) error {
	seg := &v.finder.Seg
	flags := seg.Places.Flags[h.Place] | seg.Reader.Flags(h.Doc)
	worth := ranking.ScoreFrequency*float64(h.Frequency) + float64(h.Points) +
		nearScores[h.Near]*ranking.NearShare(flags, seg.Reader.Language(h.Doc), string(seg.Places.Path(h.Place)))
	switch named := &v.finder.Named; {
	case named.Defining != nil && named.Defining.Has(int(h.Doc)):
		weight, err := v.document.DefinitionWeight(&h.Hit)
		if err != nil {
			return err
		}
		worth += ranking.ScoreDefinition * weight
	case named.All != nil && named.All.Has(int(h.Doc)):
		worth += ranking.ScoreDefinition * ranking.ScoreDefinitionFold / 2
	}
	for _, f := range flagScores {
		if flags&f.flag != 0 {
			worth += f.points
		}
	}
	h.estimatedScore = float32(worth + float64(ranking.ScoreDepth*min(pathDepth(seg.Places.Path(h.Place)), ranking.MaxScoredDepth)))
	return nil
}

// retainMatches keeps a copy of the matches of a hit that may be shown, those on the best
// lines first.
func (t *taskVisit) retainMatches(h *hit) (err error) {
	v := t.v
	room := v.maxKept - t.kept
	if t.first != nil {
		room = v.maxKept // it is not known yet which are kept in the end
	}
	if v.bestOnly {
		room = v.maxKept
		if err := v.estimateScore(h); err != nil {
			return err
		}
		if h.estimatedScore <= t.floor && len(h.Matches) > 0 {
			h.dropped, h.Matches = int32(min(len(h.Matches), room)), nil
			return nil
		}
	}
	if v.bestOnly && (v.orders && len(h.Matches) > 1 || len(h.Matches) > min(firstShare, room)) {
		err = v.document.OrderByLine(&h.Hit)
	}
	h.Matches = slices.Clone(h.Matches[:min(len(h.Matches), room)])
	return err
}

// pruneHits drops the matches of the hits of a task that cannot be shown, once there are
// far more matches than can be shown.
func (t *taskVisit) pruneHits() {
	if !t.v.bestOnly || t.kept <= 2*t.v.maxKept+pruneSlack {
		return
	}
	kept, floor := pruneMatches(t.hits, t.v.maxKept)
	t.v.document.ReserveMemory(-int64(t.kept-kept) * match.MatchBytes)
	t.kept, t.floor = kept, floor
}

// flagScores holds the points for the flags of a file.
var flagScores = []struct {
	flag   code.Flags
	points float64
	reason string
}{
	{code.FlagTest, ranking.ScoreTest, "test"},
	{code.FlagVendored, ranking.ScoreVendored, "vendored"},
	{code.FlagGenerated, ranking.ScoreGenerated, "generated"},
}

// nearScores holds the points for the proximity of terms.
var nearScores = [...]float64{
	match.NearNot: 0, match.NearRegion: ranking.ScoreRegion, match.NearLines3: ranking.ScoreLines3, match.NearLine: ranking.ScoreLine,
	match.NearPhrase: ranking.ScorePhrase,
}

// matchQuota is the number of matches that a hit may show.
type matchQuota struct {
	hit     *hit
	order   int
	matches int
}

// allotMatches divides room for matches among hits, best first: a first share for each
// hit while room lasts, and then all remaining matches of one hit after the other. The
// result omits hits that get nothing.
func allotMatches(hits []*hit, room, share int) []matchQuota {
	all := make([]matchQuota, len(hits))
	for i, h := range hits {
		all[i] = matchQuota{hit: h, order: i}
	}
	slices.SortFunc(all, func(a, b matchQuota) int {
		return cmp.Or(cmp.Compare(b.hit.estimatedScore, a.hit.estimatedScore), cmp.Compare(a.order, b.order))
	})
	n := 0
	for ; n < len(all) && room > 0; n++ {
		all[n].matches = min(all[n].hit.showableMatches(), share, room)
		room -= all[n].matches
	}
	for i := 0; i < n && room > 0; i++ {
		more := min(all[i].hit.showableMatches()-all[i].matches, room)
		all[i].matches += more
		room -= more
	}
	return all[:n]
}

// showableMatches returns the number of matches of a hit that can be shown: a file that
// matches by its path shows one.
func (h *hit) showableMatches() int {
	if h.dropped > 0 {
		return int(h.dropped)
	}
	return max(len(h.Matches), 1)
}

// pruneMatches drops the matches of hits that cannot be shown, no matter what else is
// found: a later hit only takes room from others. It returns the number of remaining
// matches, and the score that a hit must exceed to be shown.
func pruneMatches(hits []hit, room int) (kept int, floor float32) {
	var with []*hit
	for i := range hits {
		if len(hits[i].Matches) > 0 {
			with = append(with, &hits[i])
		}
	}
	floor = -math.MaxFloat32
	for _, a := range allotMatches(with, room, firstShare) {
		if n := len(a.hit.Matches); a.matches < n {
			a.hit.dropped = max(a.hit.dropped, int32(n))
			a.hit.Matches = slices.Clone(a.hit.Matches[:a.matches])
		}
		kept += len(a.hit.Matches)
		a.hit.shown = true
		floor = a.hit.estimatedScore
	}
	if kept < room {
		floor = -math.MaxFloat32
	}
	for _, h := range with {
		if !h.shown {
			h.dropped, h.Matches = max(h.dropped, int32(len(h.Matches))), nil
		}
		h.shown = false
	}
	return kept, floor
}

// showsBestOnly reports whether only the best files are shown because the search may find
// more matches than it can show.
func (n *searchRun) showsBestOnly() bool {
	return n.plan.display < n.plan.limit && n.plan.scope.Query.SelectKind != syntax.SelectRepo
}

// keeps returns how many matches of a file are kept: those that may be shown, and those
// that determine its score.
func (n *searchRun) keeps() int {
	if n.showsBestOnly() {
		return max(n.plan.display, firstShare)
	}
	return n.plan.display
}

// If few matches are shown, the maxRescored hits with the best estimates have their files
// scored before the best are chosen.
const (
	maxRescored = 32
	// rescoredOffset is the estimate of the first of those hits, above that of all
	// others.
	rescoredOffset = 1 << 16
)

// rescoreBest replaces the estimates of the best hits by the rank of their files by
// score.
func (a *resultBuilder) rescoreBest(ctx context.Context, found []*hit) error {
	best := slices.Clone(found)
	slices.SortStableFunc(best, func(x, y *hit) int { return cmp.Compare(y.estimatedScore, x.estimatedScore) })
	type scoredHit struct {
		hit  *hit
		file FileMatch // without text
	}
	var scored []scoredHit
	best = best[:min(len(best), maxRescored)]
	files, err := a.scoreHits(ctx, best)
	if err != nil {
		return err
	}
	for i, f := range files {
		if f != nil {
			scored = append(scored, scoredHit{best[i], *f})
		}
	}
	slices.SortStableFunc(scored, func(x, y scoredHit) int { return CompareMatches(&x.file, &y.file) })
	for i, s := range scored {
		s.hit.estimatedScore = rescoredOffset - float32(i)
	}
	return nil
}

// scoreHits returns the files of hits with their scores and without text; nil for a damaged
// one.
func (a *resultBuilder) scoreHits(ctx context.Context, hits []*hit) ([]*FileMatch, error) {
	if a.run.plan.remote != nil {
		return a.scoreRemote(ctx, hits)
	}
	files := make([]*FileMatch, len(hits))
	for i, x := range hits {
		a.worker.Step()
		h := *x
		if len(h.Matches) < min(h.showableMatches(), firstShare) && h.dropped > 0 {
			err := a.refindMatches(&h)
			if a.run.skipDamaged(h.segment, err) {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		h.Matches = slices.Clone(h.Matches[:min(len(h.Matches), firstShare)])
		left := a.renderer.bytesLeft
		a.renderer.scoresOnly = true
		f, err := a.renderer.renderFile(&h)
		a.renderer.bytesLeft, a.renderer.scoresOnly = left, false
		if a.run.skipDamaged(h.segment, err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[i] = &FileMatch{Repo: f.Repo, Path: f.Path, Ref: f.Ref, Score: f.Score}
	}
	return files, nil
}

// pickShown returns the hits to show, with their matches.
func (a *resultBuilder) pickShown(ctx context.Context) ([]hit, error) {
	found := make([]*hit, len(a.allHits))
	shows := 0
	for i := range a.allHits {
		found[i] = &a.allHits[i]
		shows += found[i].showableMatches()
	}
	if a.room < min(shows, maxRescored*firstShare) {
		if err := a.rescoreBest(ctx, found); err != nil {
			return nil, err
		}
	}
	var shown []hit
	for _, x := range allotMatches(found, a.room, a.run.fileShare()) {
		h := *x.hit
		if err := a.cutMatches(&h, x.matches); err != nil {
			return nil, err
		}
		shown = append(shown, h)
	}
	a.allHits = nil
	return shown, nil
}

// fileShare returns the number of matches to show for each file before any file gets
// more.
func (n *searchRun) fileShare() int {
	switch {
	case n.plan.request.FirstOfFile > 0:
		return n.plan.request.FirstOfFile
	case n.plan.ranked != nil:
		return rankedShare
	}
	return firstShare
}

// cutMatches cuts the matches of a hit to those that it may show.
func (a *resultBuilder) cutMatches(h *hit, most int) error {
	isCut := most < h.showableMatches() && h.showableMatches() <= firstShare // then its matches are in text order
	if a.run.plan.remote == nil && (len(h.Matches) < most && h.dropped > 0 || isCut) {
		if err := a.refindMatches(h); err != nil && !a.run.skipDamaged(h.segment, err) {
			return err
		}
	}
	h.Matches = h.Matches[:min(len(h.Matches), most)]
	return nil
}

// pathDepth returns the number of directories in a path.
func pathDepth(path []byte) int {
	n := 0
	for _, c := range path {
		if c == '/' {
			n++
		}
	}
	return n
}
