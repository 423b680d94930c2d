package search

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A tier is a group of documents. Where there are more candidates than a search
// will look at, it looks at the tiers one after the other, each in the order of
// segments and documents: what it finds until its limit is then likely to be what
// people want. Every document is in one tier.
type tier int

const (
	// tierAll is the one tier of a search with few candidates.
	tierAll tier = iota
	// tierPhrase has documents with a block that may have all terms one after the
	// other, with a blank between, as in a pasted line; tierPhraseAside those of
	// them that come later.
	tierPhrase
	// tierJoined has documents that define a symbol whose words are the terms.
	tierJoined
	// tierDefines has documents that define a symbol with the name of a term, in
	// its letter case; tierNamed those that do so in another case, and the files
	// that are called so; tierAside those of both that are test code, vendored or
	// generated.
	tierDefines
	tierNamed
	tierAside
	// tierTogether has documents with a block that may have all terms;
	// tierTogetherAside the test code, vendored and generated ones.
	tierPhraseAside
	tierTogether
	tierTogetherAside
	// tierMain has the other documents; tierRest the test code, vendored and generated ones.
	tierMain
	tierRest
	// tierAny has all documents without the name of a term, where the index cannot
	// narrow the candidates: reordering them would only decompress frames twice.
	tierAny
)

// namedTiers is the number of tiers from tierJoined to tierAside.
const namedTiers = int(tierAside-tierJoined) + 1

const (
	// maxOrderedAtoms and maxOrderedMatches bound the searches that look for an
	// order: what the index says of each segment is held meanwhile.
	maxOrderedAtoms   = 16
	maxOrderedMatches = 1 << 16
	// orderShare: an order is worth while from one candidate block for so many
	// matches that are looked for, but not below enoughOfOne, or one for orderBlocks
	// of the index. A file with several terms has them so often that
	// a few use up any limit.
	orderShare      = 4
	enoughOfOne     = 200
	orderBlocks     = 64
	enoughOfSeveral = 16
	// maxUnaskedDocuments is how many named documents of a segment are looked at
	// as a whole rather than asking the index where.
	maxUnaskedDocuments = 8
)

// largeBytes is the size from which on a document comes later.
const largeBytes = 512 << 10

const asideFlags = code.FlagTest | code.FlagVendored | code.FlagGenerated

// schedule is the order in which a search visits tiers and segments. There is one task
// for each segment of each tier.
type schedule struct {
	segments       int
	names          []termName
	tiers          []tier
	segmentStates  []segmentState     // nil if nothing is held between tasks
	fullScan       *segmentCandidates // of a segment whose index is not asked
	requiredAtoms  []int              // atoms that must all match, if several
	phrase         string             // what these are together; empty if nothing that was written so
	orderThreshold int                // candidates from which on the order counts
	// bands is how many bands of files each tier is visited in, one after the
	// other, and first has the first files of each; 1 and nil for callers who may
	// see everything.
	bands int
	first []firstFiles
}

// segmentState is what a search keeps about a segment between its tasks.
type segmentState struct {
	mu sync.Mutex
	// named are the documents of tierJoined, tierDefines, tierNamed and tierAside, and taken
	// all of them.
	named     [namedTiers][]segment.DocID
	namedDocs bitset
	defines   bitset // those that define a symbol
	searched  bool   // for names
	// candidates is the result of the index, nil until it was searched.
	candidates *segmentCandidates
}

// newSchedule begins with the segments in their order. survey says that those
// must be surveyed to know whether another is worth while.
func newSchedule(sc *scope, segments []Segment, r *Request) (a *schedule, survey bool) {
	c := sc.c
	a = &schedule{segments: len(segments), tiers: []tier{tierAll}, names: namesOf(c), bands: 1}
	if len(c.atoms) > maxOrderedAtoms || r.Matches > maxOrderedMatches || c.selectKind == syntax.SelectRepo {
		return a, false
	}
	least := enoughOfSeveral // for who may not see all: the index is as large as what is hidden
	if !sc.restricted {
		least = enoughCandidates(segments)
	}
	if a.orderThreshold = max(r.Matches/orderShare, least); len(c.atoms) > 1 {
		a.orderThreshold = min(a.orderThreshold, enoughOfSeveral)
	}
	if len(c.atoms) > 0 && !isIndexed(c.root) {
		if len(a.names) > 0 {
			a.setOrder(c, tierAny)
		}
		return a, false
	}
	a.segmentStates = make([]segmentState, len(segments))
	return a, true
}

// enoughCandidates returns the candidates of a single term that are looked at as quickly as
// they are put in order: fewer in a small index.
func enoughCandidates(segments []Segment) int {
	blocks := 0
	for i := 0; i < len(segments) && blocks/orderBlocks < enoughOfOne; i++ {
		blocks += segments[i].Reader.Blocks()
	}
	return min(blocks/orderBlocks, enoughOfOne)
}

// setOrder puts the best first; rest are the tiers of what has no name of a term.
func (a *schedule) setOrder(c *compiledQuery, rest ...tier) {
	a.tiers = rest
	if len(a.names) > 0 {
		a.tiers = append([]tier{tierDefines, tierNamed, tierAside}, rest...)
		if c.joined != "" {
			a.tiers = slices.Insert(a.tiers, 0, tierJoined)
		}
		a.fullScan = fullScanCandidates(c)
	}
	if a.segmentStates == nil {
		a.segmentStates = make([]segmentState, a.segments)
	}
}

// applySurvey decides by the number of candidates. That counts blocks, which documents that
// are hidden share: where there may be such, the tiers are always visited in order. And few
// files with all terms may have so many matches that the one with an identifier of these
// words comes too late.
func (a *schedule) applySurvey(sc *scope, candidates int) {
	c := sc.c
	if candidates <= a.orderThreshold && !sc.restricted && (c.joined == "" || candidates <= 1) {
		return
	}
	for _, n := range conjunctsOf(c.root) {
		if k, ok := n.(*atomNode); ok && isAtomIndexed(k.atom) && !k.symbols {
			a.requiredAtoms = append(a.requiredAtoms, k.number)
		}
	}
	if len(a.requiredAtoms) < 2 {
		a.requiredAtoms = nil
		a.setOrder(c, tierMain, tierRest)
		return
	}
	a.setOrder(c, tierTogether, tierTogetherAside, tierMain, tierRest)
	if a.phrase = phraseOf(c); a.phrase != "" {
		first := slices.Index(a.tiers, tierDefines) + 1
		a.tiers = slices.Insert(a.tiers, first, tierPhrase, tierPhraseAside)
	}
}

// phraseOf returns the terms of a query with a blank between, folded; empty if
// they are not all literals that must match.
func phraseOf(c *compiledQuery) string {
	n := 0
	for _, k := range conjunctsOf(c.root) {
		if k, ok := k.(*atomNode); ok && !k.symbols && k.literal != "" {
			n++
		}
	}
	if n != len(c.atoms) || n != len(c.literals) {
		return ""
	}
	return string(postings.AppendFold(nil, []byte(strings.Join(c.literals, " "))))
}

// taskCount is the number of tasks, and task what the i'th is about.
func (a *schedule) taskCount() int { return a.segments * len(a.tiers) * a.bands }

func (a *schedule) taskAt(i int) (segment int, t tier) {
	return i % a.segments, a.tiers[i/a.segments/a.bands]
}

// firstOf returns the first files of the band of a task, nil for callers who may
// see everything.
func (a *schedule) firstOf(i int) *firstFiles {
	if a.first == nil {
		return nil
	}
	return &a.first[i/a.segments]
}

// lastOfBand returns the last task of the tier and band of a task.
func (a *schedule) lastOfBand(i int) int { return (i/a.segments+1)*a.segments - 1 }

// isIndexed reports whether the index says which documents a node can be true for.
func isIndexed(n node) bool {
	switch n := n.(type) {
	case *andNode:
		return slices.ContainsFunc(n.children, isIndexed)
	case *orNode:
		return !slices.ContainsFunc(n.children, func(k node) bool { return !isIndexed(k) })
	case *atomNode:
		return isAtomIndexed(n.atom)
	}
	return false
}

func isAtomIndexed(a *atom) bool {
	return a.re2 == nil && slices.ContainsFunc(a.pattern.Sets, func(set []string) bool {
		return !slices.ContainsFunc(set, func(s string) bool { return len(s) < 3 })
	})
}

// fullScanCandidates is the segmentCandidates of a segment of which nothing is known.
func fullScanCandidates(c *compiledQuery) *segmentCandidates {
	p := &segmentCandidates{possible: true, atomCandidates: make([]atomCandidates, len(c.atoms)), columns: make([]bitset, len(c.predicates)+1)}
	for i, a := range c.atoms {
		p.atomCandidates[i] = atomCandidates{all: true}
		if a.re2 == nil && len(a.pattern.Sets) > 0 {
			p.atomCandidates[i].literals = a.pattern.Sets[0]
		}
	}
	p.atomsLookedUp = len(c.atoms)
	return p
}

// countCandidates bounds the blocks, or without atoms the places, that can match.
func (v *candidateFinder) countCandidates(n node) int {
	switch n := n.(type) {
	case *andNode:
		least := math.MaxInt32
		for _, k := range n.children {
			least = min(least, v.countCandidates(k))
		}
		return least
	case *orNode:
		sum := 0
		for _, k := range n.children {
			sum = min(sum+v.countCandidates(k), math.MaxInt32)
		}
		return sum
	case *atomNode:
		if f := &v.atomCandidates[n.number]; !f.all {
			return v.candidateBlocks(n.atom, f)
		}
	}
	return math.MaxInt32
}

// countSegmentCandidates bounds the candidates of the current segment.
func (v *candidateFinder) countSegmentCandidates() int {
	switch {
	case !v.possible:
		return 0
	case len(v.s.c.atoms) > 0:
		return v.countCandidates(v.s.c.root)
	case v.allowed == nil:
		return v.seg.Places.Len()
	}
	return v.allowed.count()
}

// surveyCandidates searches the index of a segment, and returns the result to keep and the
// number of candidates.
func (v *segmentSearcher) surveyCandidates(seg Segment) (*segmentCandidates, int, error) {
	v.openSegment(seg)
	v.segmentCandidates = newSegmentCandidates(v.s.c)
	err := v.prepareCandidates()
	return v.segmentCandidates, v.countSegmentCandidates(), err
}

// visitTier returns the hits of a tier of a segment.
func (v *segmentSearcher) visitTier(number int, seg Segment, t tier, a *schedule) (hits []hit, count int, err error) {
	v.openSegment(seg)
	var o *segmentState
	if a.segmentStates != nil {
		o = &a.segmentStates[number]
	}
	if t == tierAll && o == nil {
		return v.visitSegment(number, seg, a.names)
	}
	if a.first != nil && v.hasNoHit(o) {
		return nil, 0, nil
	}
	if len(a.names) > 0 && (t != tierAll || v.bestOnly) {
		if err := v.findNamedOnce(o, a); err != nil {
			return nil, 0, err
		}
	}
	if t >= tierJoined && t <= tierAside && len(a.requiredAtoms) == 0 {
		return v.visitNamed(number, o, o.named[t-tierJoined], a)
	}
	if err := v.lookUpCandidates(o); err != nil || !v.possible {
		return nil, 0, err
	}
	if t == tierAll {
		return v.visitDocuments(number, nil)
	}
	if err := v.placeTerms(a); err != nil {
		return nil, 0, err
	}
	if (t == tierPhrase || t == tierPhraseAside) && v.phrase.Len() == 0 || t < tierMain && len(a.requiredAtoms) > 0 && v.together.Len() == 0 {
		return nil, 0, nil
	}
	return v.visitDocuments(number, func(d segment.DocID) bool { return v.tierOf(d, o, a) == t })
}

// findNamedOnce finds out which documents of the current segment are named, once.
func (v *candidateFinder) findNamedOnce(o *segmentState, a *schedule) (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.searched {
		o.named, o.defines, o.namedDocs, err = v.findNamed(a.names)
		o.searched = err == nil
	}
	v.definingDocs, v.namedDocs = o.defines, o.namedDocs
	return err
}

// lookUpCandidates makes what the index says of the current segment the segmentCandidates, and holds it,
// unless it was stopped meanwhile: then another segmentSearcher may need all of it.
func (v *segmentSearcher) lookUpCandidates(o *segmentState) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.candidates != nil {
		v.segmentCandidates = o.candidates
		return nil
	}
	p, _, err := v.surveyCandidates(v.seg)
	if err == nil && !p.unfinished {
		o.candidates = p
	}
	return err
}

// hasNoHit reports whether the index was searched for the current segment, which
// can have no hit.
func (v *candidateFinder) hasNoHit(o *segmentState) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.candidates == nil || o.candidates.possible {
		return false
	}
	v.segmentCandidates = o.candidates
	return true
}

func (o *segmentState) hasCandidates() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.candidates != nil
}

// visitNamed returns the hits among documents that have the name of a term.
func (v *segmentSearcher) visitNamed(number int, o *segmentState, docs []segment.DocID, a *schedule) (hits []hit, count int, err error) {
	if len(docs) == 0 {
		return nil, 0, nil
	}
	if v.segmentCandidates = a.fullScan; len(docs) > maxUnaskedDocuments || o.hasCandidates() {
		if err := v.lookUpCandidates(o); err != nil || !v.possible {
			return nil, 0, err
		}
	}
	defer v.startMatching()()
	for _, d := range docs {
		if v.nextDocument(v.s.c.root, int(d)) != int(d) {
			continue
		}
		if v.shouldStop() || v.foundAll() {
			break
		}
		if !v.mayCount(int(d)) {
			continue
		}
		found, n, err := v.searchDocument(number, d)
		if err != nil {
			return nil, 0, err
		}
		var enough bool
		if hits, count, enough = v.keepHits(hits, found, count+n); enough {
			break
		}
	}
	return hits, count, nil
}

// pathDepth is the number of directories of a path.
func pathDepth(path []byte) int {
	n := 0
	for _, c := range path {
		if c == '/' {
			n++
		}
	}
	return n
}

// surveySegment counts the candidates of a segment. Once there are so many that the
// order counts, the other segments are searched when they are visited, if ever.
func (n *searchRun) surveySegment(v *segmentSearcher, i int) {
	before, started := v.stats, time.Now()
	p, candidates, err := v.surveyCandidates(n.segments[i])
	if err == nil && !p.unfinished {
		n.schedule.segmentStates[i].candidates = p
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failLocked(i, err)
	n.explainLocked(v, i, &before, 0, time.Since(started))
	if n.mu.candidates += candidates; n.mu.candidates > n.schedule.orderThreshold {
		n.mu.end = n.mu.next
	}
}

// finishSurvey sets the tasks by what the survey found.
func (n *searchRun) finishSurvey() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.schedule.applySurvey(n.scope, n.mu.candidates)
	n.setTasks()
}

// setTasks prepares the run for the tasks of the schedule.
func (n *searchRun) setTasks() {
	if n.ordersByFile() {
		n.setBands()
	}
	n.mu.done = make([]taskResult, n.schedule.taskCount())
}

// ordersByFile reports whether the files that count, where there are more than the limit,
// follow from what the caller may see alone: see firstfiles.go.
func (n *searchRun) ordersByFile() bool { return n.scope.restricted }
