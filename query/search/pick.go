package search

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// firstShare is the number of matches that each file shown has before another has
// more, where not all that is found is shown.
const firstShare = 10

// pruneSlack is how many matches more than it may show a segmentSearcher keeps before it
// drops those of the worst files.
const pruneSlack = 1 << 10

// worth is what a hit would score, by what is known before it is rendered; bonus
// is for what its document defines.
func (v *candidateFinder) estimateScore(h *hit) float32 {
	worth := scoreFrequency*float64(h.frequency) + nearScores[h.near] + float64(h.points)
	switch d := int(h.doc); {
	case v.definingDocs != nil && v.definingDocs.has(d):
		worth += scoreDefinition
	case v.namedDocs != nil && v.namedDocs.has(d):
		worth += scoreDefinition * scoreDefinitionFold / 2
	}
	flags := v.seg.Places.Flags[h.place] | v.seg.Reader.Flags(h.doc)
	for _, f := range flagScores {
		if flags&f.flag != 0 {
			worth += f.points
		}
	}
	return float32(worth + float64(scoreDepth*min(pathDepth(v.seg.Places.Path(h.place)), maxScoredDepth)))
}

// retainMatches keeps the matches of a hit that may be shown, those on the best lines first, as
// a copy.
func (v *segmentSearcher) retainMatches(h *hit) error {
	room := v.maxKept - v.kept
	if v.first != nil {
		room = v.maxKept // which are kept in the end is not known yet
	}
	if v.bestOnly {
		room = v.maxKept
		if h.estimatedScore = v.estimateScore(h); h.estimatedScore <= v.floor && len(h.matches) > 0 {
			h.dropped, h.matches = int32(min(len(h.matches), room)), nil
			return nil
		}
	}
	var err error
	if v.bestOnly && (v.orders && len(h.matches) > 1 || len(h.matches) > min(firstShare, room)) {
		err = v.orderByLine(h)
	}
	h.matches = slices.Clone(h.matches[:min(len(h.matches), room)])
	return err
}

// pruneHits drops the matches of the hits of a task that cannot be shown, once there are
// many more than can.
func (v *segmentSearcher) pruneHits(hits []hit) {
	if !v.bestOnly || v.kept <= 2*v.maxKept+pruneSlack {
		return
	}
	kept, floor := pruneMatches(hits, v.maxKept)
	v.reserveMemory(-int64(v.kept-kept) * matchBytes)
	v.kept, v.floor = kept, floor
}

// flagScores is what the flags of a file count.
var flagScores = []struct {
	flag   code.Flags
	points float64
	reason string
}{{code.FlagTest, scoreTest, "test"}, {code.FlagVendored, scoreVendored, "vendored"}, {code.FlagGenerated, scoreGenerated, "generated"}}

// nearScores is what the proximity of terms counts.
var nearScores = [...]float64{nearNot: 0, nearRegion: scoreRegion, nearLines3: scoreLines3, nearLine: scoreLine, nearPhrase: scorePhrase}

// matchQuota says how many of its matches a hit may show.
type matchQuota struct {
	hit     *hit
	order   int
	matches int
}

// allotMatches divides room for matches among hits, the worthiest first: a first share of matches for
// each, as far as there is room, and then all for one after the other. The hits that
// get nothing are not in the result.
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

// showableMatches is how many matches of a hit can be shown: a file that matches by its path
// shows one.
func (h *hit) showableMatches() int {
	if h.dropped > 0 {
		return int(h.dropped)
	}
	return max(len(h.matches), 1)
}

// pruneMatches drops the matches of hits that cannot be shown, whatever else is found: a
// hit that comes only takes room from others. It returns how many are left, and the
// worth that a hit must exceed to be shown.
func pruneMatches(hits []hit, room int) (kept int, floor float32) {
	var with []*hit
	for i := range hits {
		if len(hits[i].matches) > 0 {
			with = append(with, &hits[i])
		}
	}
	floor = -math.MaxFloat32
	for _, a := range allotMatches(with, room, firstShare) {
		if n := len(a.hit.matches); a.matches < n {
			a.hit.dropped = max(a.hit.dropped, int32(n))
			a.hit.matches = slices.Clone(a.hit.matches[:a.matches])
		}
		kept += len(a.hit.matches)
		a.hit.shown = true
		floor = a.hit.estimatedScore
	}
	if kept < room {
		floor = -math.MaxFloat32
	}
	for _, h := range with {
		if !h.shown {
			h.dropped, h.matches = max(h.dropped, int32(len(h.matches))), nil
		}
		h.shown = false
	}
	return kept, floor
}

// showsBestOnly reports whether the worthiest files are shown of more than can be: else
// there is room for all.
func (n *searchRun) showsBestOnly() bool {
	return n.display < n.limit && n.scope.c.selectKind != syntax.SelectRepo
}

// keeps returns how many matches of a file are kept: those that may be shown, and those by which it is scored.
func (n *searchRun) keeps() int {
	if n.showsBestOnly() {
		return max(n.display, firstShare)
	}
	return n.display
}

// Where few matches are shown, the maxRescored hits that are worth most have their files
// scored before the best are chosen.
const (
	maxRescored = 32
	// rescoredWorth is the worth of the first of those, above that of all others.
	rescoredOffset = 1 << 16
)

// rescoreBest makes the place of its file, by score, the worth of each of the best hits.
func (a *resultBuilder) rescoreBest(found []*hit) error {
	best := slices.Clone(found)
	slices.SortStableFunc(best, func(x, y *hit) int { return cmp.Compare(y.estimatedScore, x.estimatedScore) })
	type scoredHit struct {
		hit  *hit
		file FileMatch // without text
	}
	var scored []scoredHit
	for _, x := range best[:min(len(best), maxRescored)] {
		a.worker.Step()
		h := *x
		if len(h.matches) < min(h.showableMatches(), firstShare) && h.dropped > 0 {
			if err := a.refindMatches(&h); err != nil {
				return err
			}
		}
		h.matches = slices.Clone(h.matches[:min(len(h.matches), firstShare)])
		left := a.renderer.bytesLeft
		f, err := a.renderer.renderFile(&h)
		a.renderer.bytesLeft = left
		if a.run.skipDamaged(err) {
			continue
		}
		if err != nil {
			return err
		}
		scored = append(scored, scoredHit{x, FileMatch{Repo: f.Repo, Path: f.Path, Ref: f.Ref, Score: f.Score}})
	}
	slices.SortStableFunc(scored, func(x, y scoredHit) int { return compareMatches(&x.file, &y.file) })
	for i, s := range scored {
		s.hit.estimatedScore = rescoredOffset - float32(i)
	}
	return nil
}

// pickShown returns the hits to show of all that were found, with their matches.
func (a *resultBuilder) pickShown() ([]hit, error) {
	found := make([]*hit, len(a.allHits))
	shows := 0
	for i := range a.allHits {
		found[i] = &a.allHits[i]
		shows += found[i].showableMatches()
	}
	if a.room < min(shows, maxRescored*firstShare) {
		if err := a.rescoreBest(found); err != nil {
			return nil, err
		}
	}
	var shown []hit
	for _, x := range allotMatches(found, a.room, a.run.request.fileShare()) {
		h := *x.hit
		isCut := x.matches < h.showableMatches() && h.showableMatches() <= firstShare // then its matches are in the order of the text
		if len(h.matches) < x.matches && h.dropped > 0 || isCut {
			if err := a.refindMatches(&h); err != nil {
				return nil, err
			}
		}
		h.matches = h.matches[:min(len(h.matches), x.matches)]
		shown = append(shown, h)
	}
	a.allHits = nil
	return shown, nil
}

// refindMatches finds the matches of a hit that were dropped because of better ones, which
// turned out to be after the limit of the search.
func (a *resultBuilder) refindMatches(h *hit) error {
	n := a.run
	v := newSegmentSearcher(n.scope, n.keeps(), n.limit, func() bool { return false })
	v.bestOnly, v.orders = true, true
	v.openSegment(n.segments[h.segment])
	v.segmentCandidates = fullScanCandidates(n.scope.c)
	end := v.startMatching()
	hits, _, err := v.searchDocument(h.segment, h.doc)
	end()
	for i := range hits {
		if hits[i].place == h.place {
			h.matches = hits[i].matches
		}
	}
	a.result.Stats.ContentBytes += v.stats.ContentBytes
	return errors.Join(err, v.close())
}
