package search

import (
	"time"

	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Request is what is asked of a view.
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
	// Whole asks for the text of each file.
	Whole bool
	// Explain asks for the plan and its costs.
	Explain bool
}

// shown returns how many matches may be displayed.
func (r *Request) shown() int {
	if r.Display <= 0 || r.Display > r.Matches {
		return r.Matches
	}
	return r.Display
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
)

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
	// Content is the text of the file, if it was asked for.
	Content []byte
	Blob    code.BlobID
	Score   float64
	// Reasons say how Score came about; only with Request.Explain.
	Reasons []string
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
	// Matches were found, in Files files, up to one more than was asked for.
	Matches, Files int
	// Displayed matches are in the answer.
	Displayed int
	// Duration is all of Wait (for a free place), Planning and Searching, and the
	// rendering of the answer.
	Duration, Wait, Planning, Searching time.Duration
	// ContentBytes of text were decompressed, IndexBytes of postings read.
	ContentBytes, IndexBytes int64
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
	s.IndexBytes += o.IndexBytes
	s.FilesConsidered += o.FilesConsidered
	s.FilesLoaded += o.FilesLoaded
	s.Segments += o.Segments
	s.SegmentsSkipped += o.SegmentsSkipped
	s.SegmentsFiltered += o.SegmentsFiltered
	s.TrigramLookups += o.TrigramLookups
	s.TrigramMatches += o.TrigramMatches
	s.RegexpsConsidered += o.RegexpsConsidered
	s.Planning += o.Planning
}

// Explain is how a query was run.
type Explain struct {
	// Query is the tree as it was run, Atoms what the index was asked for each of
	// its patterns.
	Query string   `json:"query"`
	Atoms []string `json:"atoms"`
	// Segments has a line for each segment, in their order, until the search
	// stopped.
	Segments []SegmentExplain `json:"segments"`
	Stopped  StopReason       `json:"stopped,omitempty"`
}

// SegmentExplain is what a segment cost.
type SegmentExplain struct {
	ID              string `json:"id"`
	Documents       int    `json:"documents"`
	CandidateBlocks []int  `json:"candidateBlocks"` // of each atom; -1 for all; none if a filter excludes the segment
	FilesConsidered int    `json:"filesConsidered"`
	Matches         int    `json:"matches"`
	IndexBytes      int64  `json:"indexBytes"`
	ContentBytes    int64  `json:"contentBytes"`
	Micros          int64  `json:"micros"`
}
