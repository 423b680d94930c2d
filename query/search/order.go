package search

import (
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/syntax"
)

// A tier is a group of documents. If there are more candidates than a search will check,
// the search visits one tier after another, each in the order of segments and documents.
// The hits that it finds before its limit are then likely to be the ones that people
// want. Every document is in one tier.
type tier int

const (
	// tierAll is the only tier of a search with few candidates.
	tierAll tier = iota
	// tierFirst contains the documents of Request.Documents.
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

const (
	// maxOrderedMatches and match.MaxOrderedAtoms bound the searches that use an order, because
	// the search holds the index results of each segment while it decides.
	maxOrderedMatches = match.MaxCountedBlocks * orderShare
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

// schedule is the order in which a search visits tiers and segments. Each segment of each
// tier is one task.
type schedule struct {
	segments       int
	allSegments    int // of all shards; they share the bounds of definitions
	names          []match.Name
	tiers          []tier
	segmentStates  []segmentState    // nil if nothing is held between tasks
	fullScan       *match.Candidates // for a segment whose index is not searched
	requiredAtoms  []int             // atoms that must all match, if several
	phrase         string            // required atoms joined with blanks; empty if the query has no such phrase
	orderThreshold int               // minimum number of candidates at which the order matters
	documents      [][]segment.DocID // by segment, those of tierFirst; nil if there are none
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
	// ranked search: see MarkTerms.
	first []segment.DocID
	terms []match.TermSet
	// named are the documents of the tiers from tierJoined to tierAside.
	named    match.Named
	searched bool // the names were looked up
	// candidates is the result of the index lookup, nil before the lookup.
	candidates *match.Candidates
	// placed means that together and phrase are known.
	placed           bool
	together, phrase match.TermPlaces
}

// newSchedule returns a schedule that visits a number of segments in their order. blocks is
// the size of their index, and documents those of tierFirst in each segment, nil for none.
// survey means that the segments must be surveyed to decide whether another order pays off.
func newSchedule(sc *match.Scope, segments, blocks int, documents [][]segment.DocID, r *Request) (a *schedule, survey bool) {
	c := sc.Query
	a = &schedule{segments: segments, allSegments: segments, tiers: []tier{tierAll}, names: match.NamesOf(c), documents: documents, bands: 1}
	if len(c.Atoms) > match.MaxOrderedAtoms || r.Matches > maxOrderedMatches || c.SelectKind == syntax.SelectRepo {
		return a, false
	}
	least := enoughOfSeveral // for restricted callers, because the index size depends on hidden documents
	if !sc.Restricted {
		least = min(blocks/orderBlocks, enoughOfOne)
	}
	if a.orderThreshold = max(r.Matches/orderShare, least); len(c.Atoms) > 1 || len(a.names) > 0 {
		// A block may contain hundreds of matches of a name: the first blocks may use up
		// any limit before the definition.
		a.orderThreshold = min(a.orderThreshold, enoughOfSeveral)
	}
	if len(c.Atoms) > 0 && !match.IsIndexed(c.Root) {
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
func (a *schedule) setOrder(c *match.Query, rest ...tier) {
	a.tiers = rest
	if len(a.names) > 0 {
		a.tiers = append([]tier{tierDefines, tierNamed, tierAside}, rest...)
		if c.Joined != "" {
			a.tiers = slices.Insert(a.tiers, 0, tierJoined)
		}
	}
	a.fullScan = match.FullScanCandidates(c)
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
func (a *schedule) applySurvey(sc *match.Scope, candidates int) {
	c := sc.Query
	if candidates <= a.orderThreshold && !sc.Restricted && (c.Joined == "" || candidates <= 1) {
		return
	}
	if a.requiredAtoms = match.RequiredAtoms(c); len(a.requiredAtoms) < 2 {
		a.requiredAtoms = nil
		a.setOrder(c, tierMain, tierRest)
		return
	}
	a.setOrder(c, tierTogether, tierTogetherAside, tierMain, tierRest)
	if a.phrase = match.PhraseOf(c); a.phrase != "" {
		first := slices.Index(a.tiers, tierDefines) + 1
		a.tiers = slices.Insert(a.tiers, first, tierPhrase, tierPhraseAside)
	}
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

// surveySegment counts the candidates of a segment. Once there are enough for the order
// to matter, the remaining segments are searched only when they are visited.
func (n *searchRun) surveySegment(v *segmentSearcher, i int) {
	before, started := v.finder.Work, time.Now()
	v.openSegment(n.plan.segments[i])
	p, err := v.finder.LookUp()
	candidates := v.finder.CountSegmentCandidates()
	if err == nil && !p.Unfinished {
		n.plan.schedule.segmentStates[i].candidates = p
		if n.plan.ranked != nil && p.Possible {
			n.plan.schedule.segmentStates[i].terms, err = v.document.MarkTerms(n.plan.ranked)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failLocked(i, err)
	n.explainLocked(v, i, &before, 0, time.Since(started))
	if n.mu.candidates += candidates; n.mu.candidates > n.plan.schedule.orderThreshold && n.plan.ranked == nil {
		n.mu.end = n.mu.next
	}
}

// finishSurvey sets the tasks according to the survey.
func (n *searchRun) finishSurvey(v *segmentSearcher) {
	if n.plan.ranked != nil {
		var documents []DocumentID
		for _, d := range n.bestDocuments(v, n.termWeights(n.countTermBlocks())) {
			documents = append(documents, d.DocumentID)
		}
		n.visitDocumentsFirst(documents)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.plan.ranked == nil {
		n.plan.schedule.applySurvey(n.plan.scope, n.mu.candidates)
	}
	n.setTasks()
}

// setTasks prepares the run for the tasks of its schedule.
func (n *searchRun) setTasks() {
	if n.ordersByFile() {
		n.setBands()
	}
	n.mu.done = make([]taskResult, n.plan.schedule.taskCount())
}

// ordersByFile reports whether the files that count, if there are more than the limit,
// must depend only on what the caller may see: see firstfiles.go.
func (n *searchRun) ordersByFile() bool { return n.plan.scope.Restricted }
