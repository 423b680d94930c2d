package search

import (
	"time"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Request is a search of a view.
type Request struct {
	Query *syntax.Parsed
	// Matches is the number of matches to look for; the search stops once one
	// more has been seen. At least 1.
	Matches int
	// Display is the number of matches returned; the others are only counted. 0
	// means Matches.
	Display int
	// ContextLines are shown before and after each match.
	ContextLines int
	// Whole requests the text of each file.
	Whole bool
	// Explain requests the plan and its costs.
	Explain bool
	// Facets requests Result.Facets.
	Facets bool
	// Public says which repositories visibility:public is about; nil: those that
	// are not code.Repository.Private.
	Public func(*code.Repository) bool

	// Related requests files that may be meant in addition to those that match:
	// Result.Related.
	Related bool
	// WithoutAdvice leaves out Result.Notices and Related, for searches that find out what to
	// say about another one.
	WithoutAdvice bool

	// probes collects the searches that a search makes in addition to its own; nil
	// if they are not needed.
	probes *[]ProbeExplain
	// emitted collects the first files that a stream has emitted; nil for another search.
	emitted *[]fileID
	// isReading says that the search is for one of several readings of a query: what the
	// literal one lacks is advised about, if none has a match.
	isReading bool
	// line is the line that is shown of each file without matches in its text, from 1; 0
	// for none.
	line int
	// leafPoints are added to the score of a file for a match of a leaf of the query, by the text of the leaf: the most of
	// several. nil for none.
	leafPoints map[string]float32
	// firstOfFile is how many matches each file shown has before another has more; 0 for firstShare.
	firstOfFile int
	// timeLimit bounds the time, if it is less than Options.MaxDuration; 0 for that.
	timeLimit time.Duration
}

// displayLimit returns how many matches may be displayed.
func (r *Request) displayLimit() int {
	if r.Display <= 0 || r.Display > r.Matches {
		return r.Matches
	}
	return r.Display
}

// fileShare returns how many matches each file shown has before another has more.
func (r *Request) fileShare() int {
	if r.firstOfFile > 0 {
		return r.firstOfFile
	}
	return firstShare
}

// maxDuration returns the bound of the time of a search.
func (r *Request) maxDuration(most time.Duration) time.Duration {
	if r.timeLimit > 0 {
		return min(r.timeLimit, most)
	}
	return most
}

// StopReason says why a search did not look at everything.
type StopReason string

// The reasons to stop.
const (
	StopNone       StopReason = ""
	StopMatchLimit StopReason = "match limit"
	StopTimeLimit  StopReason = "time limit"
	// StopByteLimit says that what was found is larger than an answer may be.
	StopByteLimit StopReason = "byte limit"
	// StopScanLimit says that the search looked at as much text as it may,
	// StopMemoryLimit that what was found is more than it, or all together, may hold.
	StopScanLimit   StopReason = "scan limit"
	StopMemoryLimit StopReason = "memory limit"
	// StopDamaged says that documents cannot be read, and are missing until they are
	// restored.
	StopDamaged StopReason = "damaged index"
)

// StopReasons lists those that end a search early.
var StopReasons = []StopReason{StopMatchLimit, StopTimeLimit, StopByteLimit, StopScanLimit, StopMemoryLimit}

// Result is the answer.
type Result struct {
	// Files are ordered by falling Score.
	Files []FileMatch
	// Repositories are the answer to a query of type:repo or select:repo, ordered
	// by name; Files are empty then, and a match is a repository.
	Repositories []*Repository
	Stats        Stats
	// Exhaustive says that every match there is was counted.
	Exhaustive bool
	Stopped    StopReason
	Explain    *Explain
	// Facets say what the matches are in, those that count in Stats.Matches; only with
	// Request.Facets.
	Facets []Facet
	// Notices say which filters select nothing, and which select by other names than
	// the established server; at most syntax.MaxNotices.
	Notices []syntax.Notice
	// Related are files that the query may mean besides those that match. Nothing else of
	// the result counts them. At most maxRelated.
	Related []Related

	// looked is how many matches were looked at, before a limit of those wanted; all of them,
	// if complete.
	looked         int
	complete       bool
	definesMatch   bool // a file of it defines a symbol whose whole name is a match, of minDefinedWeight
	memory         *memoryBudget
	relatedResults []*Result // whose files Related has
}

// Release says that the files of the result are not needed any more: until then
// they count as memory of the search, or until the result is collected. Releasing
// twice, or a result that was made by hand, does no harm.
func (r *Result) Release() {
	if r.memory != nil {
		r.memory.releaseAll()
	}
	for _, part := range r.relatedResults {
		part.Release()
	}
}

// FileMatch is one place with its matches.
type FileMatch struct {
	Repo *Repository
	// Ref is the ref searched; Refs are all searched refs that hold the same
	// document at the same path, Ref among them.
	Ref        code.Ref
	Refs       []code.Ref
	Path       string
	PathRanges []Range
	Language   code.Language
	Chunks     []Chunk
	// BestLines are the numbers of up to ten lines of Chunks with matches, those first
	// that fit the query best.
	BestLines []int
	// Content is the text of the file, if it was requested.
	Content []byte
	Blob    code.BlobID
	Score   float64
	// Reasons say how Score came about; only with Request.Explain.
	Reasons []string

	size      int64 // bytes that it takes of an answer
	displayed int   // matches that it shows
}

// Chunk is a run of whole lines with matches.
type Chunk struct {
	Content []byte
	Start   Location
	Ranges  []Range
	// Symbols has the symbol defined at each range, nil where there is none; it
	// is empty if no range of the chunk is a definition.
	Symbols []*code.Symbol
}

// Range is half-open.
type Range struct{ Start, End Location }

// Location is a place in a text: a 0-based byte offset, a 1-based line and a
// 1-based column in code points.
type Location struct{ ByteOffset, LineNumber, Column int }

// Stats says what an answer cost. Every number was counted.
type Stats struct {
	// Matches were found, in Files files, up to one more than requested.
	Matches, Files int
	// Displayed matches are in the answer.
	Displayed int
	// Duration is all of Wait (for a free place), Planning and Searching, and the
	// rendering of the answer.
	Duration, Wait, Planning, Searching time.Duration
	// Searching consists of Indexing, which searched the index, and Verifying,
	// which read text, both summed over the workers. Ranking put files in order,
	// Rendering filled them in.
	Indexing, Verifying, Ranking, Rendering time.Duration
	// ContentBytes of text were decompressed, ScannedBytes looked at, whether
	// decompressed or from the cache, IndexBytes of postings read, in Lists.
	ContentBytes, ScannedBytes, IndexBytes int64
	Lists                                  int
	// FilesConsidered were candidates of the index; FilesLoaded had text looked
	// at; FilesSkipped are the files not considered because the search stopped.
	FilesConsidered, FilesLoaded, FilesSkipped int
	// Segments were visited; SegmentsSkipped were not, because the index or a
	// filter showed that they have no match, or because the search stopped.
	Segments, SegmentsSkipped int
	// SegmentsFiltered are those of SegmentsSkipped that a filter excluded.
	SegmentsFiltered int
	// TrigramLookups in the directories of segments; TrigramMatches of them found
	// a list.
	TrigramLookups, TrigramMatches int
	// RegexpsConsidered counts lines or regions given to a regular expression.
	RegexpsConsidered int
}

func (s *Stats) add(o *Stats) {
	s.ContentBytes += o.ContentBytes
	s.ScannedBytes += o.ScannedBytes
	s.IndexBytes += o.IndexBytes
	s.Lists += o.Lists
	s.FilesConsidered += o.FilesConsidered
	s.FilesLoaded += o.FilesLoaded
	s.Segments += o.Segments
	s.SegmentsSkipped += o.SegmentsSkipped
	s.SegmentsFiltered += o.SegmentsFiltered
	s.TrigramLookups += o.TrigramLookups
	s.TrigramMatches += o.TrigramMatches
	s.RegexpsConsidered += o.RegexpsConsidered
	s.Planning += o.Planning
	s.Indexing += o.Indexing
	s.Verifying += o.Verifying
}

// Explain is how a query was run.
type Explain struct {
	// Query is the tree as it was run, Atoms the index lookup of each of its
	// patterns.
	Query string
	Atoms []string
	// AsOf is the moment of the past that was searched; empty for the present.
	AsOf string
	// Stages say where the time went.
	Stages Stages
	// Segments has a line for each segment, in their order, until the search
	// stopped.
	Segments []SegmentExplain
	// Files say how the scores came about, the best first, up to maxFilesExplained.
	Files   []FileExplain
	Stopped StopReason
	// Probes are the searches for readings, advice and related files, in their order, up to
	// maxProbesExplained.
	Probes []ProbeExplain
}

// maxProbesExplained bounds Explain.Probes.
const maxProbesExplained = 200

// ProbeExplain is a search that was made in addition to the requested one.
type ProbeExplain struct {
	Query   string
	Matches int
	Micros  int64
}

// FileExplain is the score of a file and its parts.
type FileExplain struct {
	Repository string
	Path       string
	Score      float64
	Reasons    []string
}

// Stages are times in microseconds. Candidates and Verify are summed over the
// workers of the search; Total is what passed, with all stages but Parse.
type Stages struct {
	// ParseMicros is set by the caller, who parsed the query.
	ParseMicros      int64
	WaitMicros       int64
	PlanMicros       int64
	CandidatesMicros int64
	VerifyMicros     int64
	RankMicros       int64
	RenderMicros     int64
	TotalMicros      int64
}

// SegmentExplain is what a segment cost.
type SegmentExplain struct {
	ID              string
	Documents       int
	CandidateBlocks []int // of each atom; -1 for all; none if a filter excludes the segment
	FilesConsidered int
	Matches         int
	Lists           int // of postings that were read
	IndexBytes      int64
	ContentBytes    int64
	ScannedBytes    int64
	Micros          int64
}

// addProbe records the result of a search that was made in addition to the
// requested one.
func (r *Request) addProbe(found *Result) {
	if r.probes != nil && (r.WithoutAdvice || r.isReading) && len(*r.probes) < maxProbesExplained {
		*r.probes = append(*r.probes, ProbeExplain{r.Query.Root.String(), found.Stats.Matches, found.Stats.Duration.Microseconds()})
	}
}
