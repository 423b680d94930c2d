package search

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A tier is a group of documents. If there are more candidates than a search will check,
// the search visits one tier after another, each in the order of segments and documents.
// The hits that it finds before its limit are then likely to be the ones that people
// want. Every document is in one tier.
type tier int

const (
	// tierAll is the only tier of a search with few candidates.
	tierAll tier = iota
	// tierFirst contains the documents of Request.documents.
	tierFirst
	// tierPhrase contains documents with a block that may contain all terms in order with
	// a blank in between, as in a pasted line. tierPhraseAside contains the test code,
	// vendored and generated ones among them.
	tierPhrase
	// tierJoined contains documents that define a symbol whose words are the terms.
	tierJoined
	// tierDefines contains the documents with the best definitions of a symbol with the
	// name of a term, of which all are searched: see bestDefinitions. tierNamed contains
	// documents that define others, and files with that name. tierAside contains those of
	// them that are test code, vendored or generated.
	tierDefines
	tierNamed
	tierAside
	// tierTogether contains documents with a block that may contain all terms.
	// tierTogetherAside contains the test code, vendored and generated ones among them.
	tierPhraseAside
	tierTogether
	tierTogetherAside
	// tierMain contains the other documents; tierRest the test code, vendored and
	// generated ones among them.
	tierMain
	tierRest
	// tierAny contains all documents without the name of a term, if the index cannot
	// narrow the candidates: reordering them would only decompress frames twice.
	tierAny
)

// namedTiers is the number of tiers from tierJoined to tierAside.
const namedTiers = int(tierAside-tierJoined) + 1

const (
	// maxOrderedAtoms and maxOrderedMatches bound the searches that use an order, because
	// the search holds the index results of each segment while it decides.
	maxOrderedAtoms   = 16
	maxOrderedMatches = 1 << 16
	// Ordering pays off from one candidate block per orderShare requested matches, but
	// not below enoughOfOne, or one block per orderBlocks of the index. With several
	// terms, enoughOfSeveral blocks suffice: a file with several terms contains them so
	// often that a few files use up any limit.
	orderShare      = 4
	enoughOfOne     = 200
	orderBlocks     = 64
	enoughOfSeveral = 16
	// maxUnaskedDocuments is the maximum number of named documents in a segment that are
	// scanned in full without an index lookup.
	maxUnaskedDocuments = 8
)

// largeBytes is the size from which a document is visited late.
const largeBytes = 512 << 10

const asideFlags = code.FlagTest | code.FlagVendored | code.FlagGenerated

// schedule is the order in which a search visits tiers and segments. Each segment of each
// tier is one task.
type schedule struct {
	segments       int
	allSegments    int // of all shards; they share the bounds of definitions
	names          []termName
	tiers          []tier
	segmentStates  []segmentState     // nil if nothing is held between tasks
	fullScan       *segmentCandidates // for a segment whose index is not searched
	requiredAtoms  []int              // atoms that must all match, if several
	phrase         string             // required atoms joined with blanks; empty if the query has no such phrase
	orderThreshold int                // minimum number of candidates at which the order matters
	documents      [][]segment.DocID  // by segment, those of tierFirst; nil if there are none
	// bands is the number of bands of files in which each tier is visited, one after
	// another. first holds the first files of each band. They are 1 and nil for callers
	// who may see everything.
	bands int
	first []firstFiles
}

// segmentState is the state that a search keeps about a segment between its tasks.
type segmentState struct {
	mu sync.Mutex
	// first are the documents of tierFirst, sorted. terms are those of each block, for a
	// ranked search: see markTerms.
	first []segment.DocID
	terms []termSet
	// named are the documents of tierJoined, tierDefines, tierNamed and tierAside;
	// namedDocs is the set of all of them.
	named     [namedTiers][]segment.DocID
	namedDocs bitset.Set
	defines   bitset.Set // documents that define a symbol
	searched  bool       // the names were looked up
	// candidates is the result of the index lookup, nil before the lookup.
	candidates *segmentCandidates
	// placed means that together and phrase are known.
	placed           bool
	together, phrase termPlaces
}

// newSchedule returns a schedule that visits a number of segments in their order. blocks is
// the size of their index, and documents those of tierFirst in each segment, nil for none.
// survey means that the segments must be surveyed to decide whether another order pays off.
func newSchedule(sc *scope, segments, blocks int, documents [][]segment.DocID, r *Request) (a *schedule, survey bool) {
	c := sc.c
	a = &schedule{segments: segments, allSegments: segments, tiers: []tier{tierAll}, names: namesOf(c), documents: documents, bands: 1}
	if len(c.atoms) > maxOrderedAtoms || r.Matches > maxOrderedMatches || c.selectKind == syntax.SelectRepo {
		return a, false
	}
	least := enoughOfSeveral // for restricted callers, because the index size depends on hidden documents
	if !sc.restricted {
		least = min(blocks/orderBlocks, enoughOfOne)
	}
	if a.orderThreshold = max(r.Matches/orderShare, least); len(c.atoms) > 1 || len(a.names) > 0 {
		// A block may contain hundreds of matches of a name: the first blocks may use up
		// any limit before the definition.
		a.orderThreshold = min(a.orderThreshold, enoughOfSeveral)
	}
	if len(c.atoms) > 0 && !isIndexed(c.root) {
		if len(a.names) > 0 {
			a.setOrder(c, tierAny)
		}
		return a, false
	}
	a.segmentStates = make([]segmentState, segments)
	return a, true
}

// indexBlocks returns the number of blocks of the index of all segments: orderBlocks of
// them are one candidate of a single term that takes as long to scan as to order.
func indexBlocks(segments []corpus.Segment) (blocks int) {
	for i := range segments {
		blocks += segments[i].Reader.Blocks()
	}
	return blocks
}

// setOrder visits the best documents first. rest are the tiers of documents without the
// name of a term.
func (a *schedule) setOrder(c *compiledQuery, rest ...tier) {
	a.tiers = rest
	if len(a.names) > 0 {
		a.tiers = append([]tier{tierDefines, tierNamed, tierAside}, rest...)
		if c.joined != "" {
			a.tiers = slices.Insert(a.tiers, 0, tierJoined)
		}
	}
	a.fullScan = fullScanCandidates(c)
	if a.segmentStates == nil {
		a.segmentStates = make([]segmentState, a.segments)
	}
	if a.documents != nil {
		a.tiers = slices.Insert(a.tiers, 0, tierFirst)
		for i := range a.documents {
			a.segmentStates[i].first = a.documents[i]
		}
	}
}

// applySurvey chooses the order by the number of candidates. The count is in blocks,
// which hidden documents may share, so the tiers are always visited in order if there may
// be hidden documents. If the terms may form one identifier, two candidates suffice to
// set the order: a few files with all terms may have so many matches that the definition
// of the identifier comes too late.
func (a *schedule) applySurvey(sc *scope, candidates int) {
	c := sc.c
	if candidates <= a.orderThreshold && !sc.restricted && (c.joined == "" || candidates <= 1) {
		return
	}
	for _, n := range conjunctsOf(c.root) {
		if k, ok := n.(*atomNode); ok && isAtomIndexed(k.atom) && !k.symbols && !k.isCondition {
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

// phraseOf returns the folded terms of a query, joined with blanks. It returns an empty
// string if some term is not a literal that must match.
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

// taskCount returns the number of tasks. taskAt returns the segment and tier of task i.
func (a *schedule) taskCount() int { return a.segments * len(a.tiers) * a.bands }

func (a *schedule) taskAt(i int) (segment int, t tier) {
	return i % a.segments, a.tiers[i/a.segments/a.bands]
}

// firstOf returns the first files of the band of a task, or nil for callers who may see
// everything.
func (a *schedule) firstOf(i int) *firstFiles {
	if a.first == nil {
		return nil
	}
	return &a.first[i/a.segments]
}

// lastOfBand returns the last task in the same tier and band.
func (a *schedule) lastOfBand(i int) int { return (i/a.segments+1)*a.segments - 1 }

// isIndexed reports whether the index shows for which documents a node can be true.
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

func isAtomIndexed(a *atom) bool { return a.re2 == nil && len(indexedSet(a.pattern.Sets)) > 0 }

// indexedSet returns the first set of literals that all have trigrams, or nil.
func indexedSet(sets [][]string) []string {
	i := slices.IndexFunc(sets, func(set []string) bool {
		return len(set) > 0 && !slices.ContainsFunc(set, func(s string) bool { return len(s) < 3 })
	})
	if i < 0 {
		return nil
	}
	return sets[i]
}

// fullScanCandidates returns the segmentCandidates of a segment without index results.
func fullScanCandidates(c *compiledQuery) *segmentCandidates {
	p := &segmentCandidates{possible: true, atomCandidates: make([]atomCandidates, len(c.atoms)), columns: make([]bitset.Set, len(c.predicates)+1)}
	for i, a := range c.atoms {
		p.atomCandidates[i] = everyBlock(a)
	}
	p.atomsLookedUp = len(c.atoms)
	return p
}

// everyBlock returns the candidates of an atom without index results.
func everyBlock(a *atom) atomCandidates {
	f := atomCandidates{all: true}
	if a.re2 == nil && len(a.pattern.Sets) > 0 {
		f.literals = a.pattern.Sets[0]
	}
	return f
}

// countCandidates returns an upper bound on the blocks that can match, or on the places
// if the node has no atoms.
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

// countSegmentCandidates returns an upper bound on the candidates in the current segment.
func (v *candidateFinder) countSegmentCandidates() int {
	switch {
	case !v.possible:
		return 0
	case len(v.s.c.atoms) > 0:
		return v.countCandidates(v.s.c.root)
	case v.allowed == nil:
		return v.seg.Places.Len()
	}
	return v.allowed.Count()
}

// surveyCandidates searches the index of a segment. It returns the result to keep and the
// number of candidates.
func (v *segmentSearcher) surveyCandidates(seg corpus.Segment) (*segmentCandidates, int, error) {
	v.openSegment(seg)
	v.segmentCandidates = newSegmentCandidates(v.s.c)
	err := v.prepareCandidates()
	return v.segmentCandidates, v.countSegmentCandidates(), err
}

// visitTier returns the hits of a tier of a segment.
func (v *segmentSearcher) visitTier(number int, seg corpus.Segment, t tier, a *schedule) (hits []hit, count int, err error) {
	v.openSegment(seg)
	var o *segmentState
	if a.segmentStates != nil {
		o = &a.segmentStates[number]
	}
	if v.requested > 0 {
		v.maxDocuments = t.maxDocuments(o != nil)
	}
	v.all = t == tierDefines && len(a.names) == 1
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
	switch {
	case t == tierFirst:
		v.maxDocuments = len(o.first) + 1
		return v.visitNamed(number, o, o.first, a)
	case t >= tierJoined && t <= tierAside && len(a.requiredAtoms) == 0:
		return v.visitNamed(number, o, o.named[t-tierJoined], a)
	}
	if err := v.lookUpCandidates(o); err != nil || !v.possible {
		return nil, 0, err
	}
	if t == tierAll {
		return v.visitDocuments(number, nil)
	}
	if err := v.placeTermsOnce(o, a); err != nil {
		return nil, 0, err
	}
	if (t == tierPhrase || t == tierPhraseAside) && v.phrase.isEmpty() || t < tierMain && len(a.requiredAtoms) > 0 && v.together.isEmpty() {
		return nil, 0, nil
	}
	return v.visitDocuments(number, func(d segment.DocID) bool { return v.tierOf(d, o, a) == t })
}

// findNamedOnce finds the named documents of the current segment on the first call, and
// reuses the result later.
func (v *candidateFinder) findNamedOnce(o *segmentState, a *schedule) (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.searched {
		o.named, o.defines, o.namedDocs, err = v.findNamed(a.names, a.allSegments)
		for i := range o.named {
			o.named[i] = slices.DeleteFunc(o.named[i], o.isFirst)
		}
		o.searched = err == nil
	}
	v.definingDocs, v.namedDocs = o.defines, o.namedDocs
	return err
}

// lookUpCandidates sets segmentCandidates to the index results of the current segment. It
// keeps them for later tasks, unless the lookup was stopped: another segmentSearcher may
// need complete results.
func (v *segmentSearcher) lookUpCandidates(o *segmentState) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.candidates != nil {
		v.segmentCandidates = o.candidates
		return nil
	}
	defining, named := v.definingDocs, v.namedDocs
	p, _, err := v.surveyCandidates(v.seg)
	if err == nil && !p.unfinished {
		o.candidates = p
	}
	v.definingDocs, v.namedDocs = defining, named // the survey opens the segment again
	return err
}

// hasNoHit reports whether the index was searched for the current segment and rules out a
// hit.
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

// surveySegment counts the candidates of a segment. Once there are enough for the order
// to matter, the remaining segments are searched only when they are visited.
func (n *searchRun) surveySegment(v *segmentSearcher, i int) {
	before, started := v.stats, time.Now()
	p, candidates, err := v.surveyCandidates(n.segments[i])
	if err == nil && !p.unfinished {
		n.schedule.segmentStates[i].candidates = p
		if n.ranked != nil && p.possible {
			err = v.markTerms(&n.schedule.segmentStates[i], n.ranked)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failLocked(i, err)
	n.explainLocked(v, i, &before, 0, time.Since(started))
	if n.mu.candidates += candidates; n.mu.candidates > n.schedule.orderThreshold && n.ranked == nil {
		n.mu.end = n.mu.next
	}
}

// finishSurvey sets the tasks according to the survey.
func (n *searchRun) finishSurvey(v *segmentSearcher) {
	if n.ranked != nil {
		var documents []DocumentID
		for _, d := range n.bestDocuments(v, n.termWeights(n.countTermBlocks())) {
			documents = append(documents, d.DocumentID)
		}
		n.visitDocumentsFirst(documents)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ranked == nil {
		n.schedule.applySurvey(n.scope, n.mu.candidates)
	}
	n.setTasks()
}

// setTasks prepares the run for the tasks of its schedule.
func (n *searchRun) setTasks() {
	if n.ordersByFile() {
		n.setBands()
	}
	n.mu.done = make([]taskResult, n.schedule.taskCount())
}

// ordersByFile reports whether the files that count, if there are more than the limit,
// must depend only on what the caller may see: see firstfiles.go.
func (n *searchRun) ordersByFile() bool { return n.scope.restricted }
