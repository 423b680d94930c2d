package search

import (
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/memory"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Request is a search of a view.
type Request struct {
	Query *syntax.Parsed
	// Matches is the number of matches to look for. The search stops once it has seen one
	// more. At least 1.
	Matches int
	// Display is the number of matches returned; further matches are only counted. 0
	// means Matches.
	Display int
	// ContextLines is the number of lines to show before and after each match.
	ContextLines int
	// JoinLines is the number of lines between two matches with their context from which
	// they are in separate chunks, up to maxJoinedMatches. Chunks never overlap.
	JoinLines int
	// Whole requests the text of each file.
	Whole bool
	// Explain requests the plan and its costs.
	Explain bool
	// Facets requests Result.Facets.
	Facets bool
	// FacetValues bounds the values of each facet, up to MaxGroups. 0 means MaxFacetValues.
	FacetValues int
	// Public reports whether visibility:public selects a repository. nil selects those
	// that are not code.Repository.Private.
	Public func(*code.Repository) bool

	// Related requests Result.Related: files that the user may have meant besides the
	// matching ones. Package assist reads Related and Brief; here, Related alone keeps a search
	// from ending as soon as its answer is known, because assist wants the number of matches.
	Related bool
	// WithoutAdvice omits Result.Notices and Related. It is set for searches that
	// determine the advice for another search.
	WithoutAdvice bool
	// Brief omits the notices about terms without a match, which take further searches. A
	// query of a few words, one of them misspelled, is then answered with the files that
	// have most of the words.
	Brief bool

	// NewView means that the caller has read nothing from the view. A view of shards then may
	// change until the search ends: see ReplicatedShard.
	NewView bool

	// The remaining fields serve package assist, which searches for readings of a query.

	// TimeLimit bounds the time if it is less than Options.MaxDuration; 0 means that
	// default.
	TimeLimit time.Duration
	// AnyMatch means that any match will do, so that the search ends at the first.
	AnyMatch bool
	// Incomplete is the reason why a predicate of the query does not cover everything; such
	// an answer is not exhaustive.
	Incomplete StopReason
	// Line is the 1-based line to show for each file without matches in its text; 0 for
	// none.
	Line int
	// LeafPoints holds points by the text of a leaf of the query. A match of the leaf
	// adds them to the score of a file; if several leaves match, the highest points
	// count. nil for none.
	LeafPoints map[string]float32
	// Documents are visited before all others.
	Documents []DocumentID
	// Ranked are the words of the terms of a ranked search, in lower case; nil for any
	// other search. The query is an or of the terms, with filters. See rank.go.
	Ranked []string
	// FirstOfFile is the number of matches to show for each file before any file gets
	// more; 0 means firstShare, or rankedShare.
	FirstOfFile int

	// isPart means that the search is the part of one shard, and restricted that the caller
	// may not see everything although the view hides nothing.
	isPart, restricted bool
}

// displayLimit returns how many matches may be displayed.
func (r *Request) displayLimit() int {
	if r.Display <= 0 || r.Display > r.Matches {
		return r.Matches
	}
	return r.Display
}

// maxDuration returns the time limit of a search.
func (r *Request) maxDuration(most time.Duration) time.Duration {
	if r.TimeLimit > 0 {
		return min(r.TimeLimit, most)
	}
	return most
}

// StopReason is the reason why a search did not cover everything.
type StopReason string

// Reasons to stop.
const (
	StopNone       StopReason = ""
	StopMatchLimit StopReason = "match limit"
	StopTimeLimit  StopReason = "time limit"
	// StopByteLimit means that the matches found exceed the maximum size of an answer.
	StopByteLimit StopReason = "byte limit"
	// StopScanLimit means that the search scanned as much text as it may. StopMemoryLimit
	// means that its matches exceed the memory that one search, or all of them together,
	// may hold.
	StopScanLimit   StopReason = "scan limit"
	StopMemoryLimit StopReason = "memory limit"
	// StopShardLost means that Result.LostPartitions are missing.
	StopShardLost StopReason = "lost partitions"
	// StopDamaged means that some documents cannot be read. They are missing from answers
	// until they are restored.
	StopDamaged StopReason = "damaged index"
)

// StopReasons lists those that end a search early.
var StopReasons = []StopReason{StopMatchLimit, StopTimeLimit, StopByteLimit, StopScanLimit, StopMemoryLimit}

// Result is the answer.
type Result struct {
	// Files are sorted by descending Score.
	Files []FileMatch
	// Repositories are the answer to a query with type:repo or select:repo, sorted by
	// name. Files is empty then, and a match is a repository.
	Repositories []*corpus.Repository
	Stats        Stats
	// Exhaustive means that every existing match was counted.
	Exhaustive bool
	Stopped    StopReason
	Explain    *Explain
	// Facets break down the matches counted in Stats.Matches. They are set only with
	// Request.Facets.
	Facets []Facet
	// Notices name filters that select nothing, and filters that select by names which
	// differ from those of the established server. Package assist adds those on readings and
	// on terms without a match. At most syntax.MaxNotices.
	Notices []syntax.Notice
	// Related are files that the query may mean besides those that match. No other field
	// of the result counts them. Package assist sets them.
	Related []Related

	// LostPartitions are the partitions, ascending, whose shards did not answer. Their files
	// are missing.
	LostPartitions []int32

	// CostsHidden means that the caller may not see everything, so that Stats and Explain
	// have no durations and no counts of work.
	CostsHidden bool

	// Evidence is what the search knows about the worth of its answer.
	Evidence Evidence

	memory *memory.Budget
	parts  []*Result // see Hold
}

// Evidence is what a search knows about the worth of its answer.
type Evidence struct {
	// Complete means that the search has seen all matches, even if it does not count all of
	// them because more were found than requested. Looked is their number; 0 otherwise.
	Complete bool
	Looked   int
	// NearTerms means that all terms are near each other in some file, and CloseTerms that
	// they are within three lines.
	NearTerms, CloseTerms bool
	// Shown is the number of files shown, in a stream too. InCode means that one of them is
	// not prose, and InChangelog that one is a changelog.
	Shown               int
	InCode, InChangelog bool
	// Ranked means that the answer has the files with most of the words of the query.
	Ranked bool
	// DefinesMatch means that a file defines a symbol whose whole name is a match and whose
	// kind weighs at least MinDefinedWeight.
	DefinesMatch bool
}

// Hold makes a result own another one, whose files it shows: Release releases both.
func (r *Result) Hold(part *Result) { r.parts = append(r.parts, part) }

// Release releases the memory of the result's files. Until then, or until the result is
// garbage-collected, they count as memory of the search. Releasing a result twice, or one
// that no search returned, has no effect.
func (r *Result) Release() {
	if r.memory != nil {
		r.memory.ReleaseAll()
	}
	for _, part := range r.parts {
		part.Release()
	}
}

// FileMatch is one place with its matches.
type FileMatch struct {
	Repo *corpus.Repository
	// Ref is the ref searched. Refs are all searched refs, including Ref, that hold the
	// same document at the same path.
	Ref        code.Ref
	Refs       []code.Ref
	Path       string
	PathRanges []Range
	Language   code.Language
	Chunks     []Chunk
	// Matches is the number of matches in the text of the file, also of those that are not
	// in Chunks. MoreMatches means that there may be more: the search counts those of one
	// file up to its limit.
	Matches     int
	MoreMatches bool
	// BestLines are the numbers of up to ten matching lines in Chunks, best match first.
	BestLines []int
	// Content is the text of the file, if requested.
	Content []byte
	Blob    code.BlobID
	Score   float64
	// Reasons explain Score; set only with Request.Explain.
	Reasons []string

	document  DocumentID
	size      int64 // its size in an answer, in bytes
	displayed int   // matches shown
}

// DocumentID identifies a document of a view.
type DocumentID struct {
	Segment segment.ID
	Doc     segment.DocID
}

// Document returns the document of the file.
func (f *FileMatch) Document() DocumentID { return f.document }

// Chunk is a run of whole lines with matches.
type Chunk struct {
	Content []byte
	Start   Location
	Ranges  []Range
	// Symbols holds the symbol defined at each range, or nil where there is none. It is
	// empty if no range of the chunk is a definition.
	Symbols []*code.Symbol
}

// Range is a half-open range.
type Range struct{ Start, End Location }

// Location is a place in a text: a 0-based byte offset, a 1-based line and a
// 1-based column in code points.
type Location struct{ ByteOffset, LineNumber, Column int }

// Stats is the cost of an answer. Every number was counted.
type Stats struct {
	// Matches and Files are the matches found, up to one more than requested, and their
	// files.
	Matches, Files int
	// Displayed is the number of matches in the answer.
	Displayed int
	// Duration is the total of Wait (for a free slot), Planning, Searching, and
	// rendering the answer.
	Duration, Wait, Planning, Searching time.Duration
	// Searching consists of Indexing, which searches the index, and Verifying, which
	// reads text; both are summed over the workers. Ranking sorts the files, and
	// Rendering fills in their details.
	Indexing, Verifying, Ranking, Rendering time.Duration
	// ContentBytes is the text decompressed, and ScannedBytes the text scanned, whether
	// decompressed or from the cache. IndexBytes is the postings read, in Lists lists.
	ContentBytes, ScannedBytes, IndexBytes int64
	Lists                                  int
	// FilesConsidered is the number of candidates from the index, and FilesLoaded the
	// number whose text was scanned. FilesSkipped is the number not considered because
	// the search stopped.
	FilesConsidered, FilesLoaded, FilesSkipped int
	// Segments is the number of segments visited. SegmentsSkipped were not visited,
	// because the index or a filter ruled out a match or because the search stopped.
	Segments, SegmentsSkipped int
	// SegmentsFiltered is the number of SegmentsSkipped that a filter excluded.
	SegmentsFiltered int
	// TrigramLookups is the number of lookups in the directories of segments.
	// TrigramMatches of them found a list.
	TrigramLookups, TrigramMatches int
	// RegexpsConsidered is the number of lines or regions on which a regular expression
	// ran.
	RegexpsConsidered int
}

// Add adds the work of another search.
func (s *Stats) Add(o *Stats) {
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

// addWork adds work in segments.
func (s *Stats) addWork(w *match.Work) {
	s.Add(&Stats{
		Indexing: w.Indexing, Verifying: w.Verifying, ContentBytes: w.ContentBytes, ScannedBytes: w.ScannedBytes,
		IndexBytes: w.IndexBytes, Lists: w.Lists,
		FilesConsidered: w.FilesConsidered, FilesLoaded: w.FilesLoaded, SegmentsFiltered: w.SegmentsFiltered,
		TrigramLookups: w.TrigramLookups, TrigramMatches: w.TrigramMatches, RegexpsConsidered: w.RegexpsConsidered,
	})
}

// Explain describes how a query ran.
type Explain struct {
	// Query is the tree that ran, and Atoms the index lookup of each of its patterns.
	Query string
	Atoms []string
	// AsOf is the moment in the past that was searched; empty for the present.
	AsOf string
	// Stages is the time of each stage.
	Stages Stages
	// Segments has an entry for each segment, in order, up to where the search stopped.
	Segments []SegmentExplain
	// Files explain the scores of the best files, best first, up to maxFilesExplained.
	Files   []FileExplain
	Stopped StopReason
	// Probes are the searches for readings, advice and related files, in order, up to
	// MaxProbes.
	Probes []ProbeExplain
}

// MaxProbes bounds Explain.Probes.
const MaxProbes = 200

// ProbeExplain is a search that ran in addition to the requested one.
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

// Stages are times in microseconds. Candidates and Verify are summed over the workers of
// the search. Total is the elapsed time of all stages except Parse.
type Stages struct {
	// ParseMicros is set by the caller, which parsed the query.
	ParseMicros      int64
	WaitMicros       int64
	PlanMicros       int64
	CandidatesMicros int64
	VerifyMicros     int64
	RankMicros       int64
	RenderMicros     int64
	TotalMicros      int64
}

// SegmentExplain is the cost of searching a segment.
type SegmentExplain struct {
	ID              string
	Documents       int
	CandidateBlocks []int // by atom; -1 for all; none if a filter excludes the segment
	FilesConsidered int
	Matches         int
	Lists           int // posting lists read
	IndexBytes      int64
	ContentBytes    int64
	ScannedBytes    int64
	Micros          int64
}

// Related is a group of files that may be meant in addition to those that match.
type Related struct {
	Reason RelatedReason
	// Query is the text of the query that finds all files of the group.
	Query string
	// Files holds the best of these files, best first. Files of RelatedFileName have no
	// chunks.
	Files []FileMatch
}

// RelatedReason is the reason why files may be meant.
type RelatedReason string

// The reasons.
const (
	// RelatedSpelling: a term has no match, but a near name has.
	RelatedSpelling RelatedReason = "spelling"
	// RelatedStyle: an identifier is written in another style, such as max_size for MaxSize.
	RelatedStyle RelatedReason = "style"
	// RelatedAccents: a word is written with accents, or without.
	RelatedAccents RelatedReason = "accents"
	// RelatedWords: the file has most of the words.
	RelatedWords RelatedReason = "words"
	// RelatedFileName: the words are in the name of the file.
	RelatedFileName RelatedReason = "fileName"
)
