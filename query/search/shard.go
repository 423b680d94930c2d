package search

import (
	"context"
	"encoding/gob"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A Shard is a session with the process that owns some partitions of the log: one state of
// their index, as one caller sees it. NewShardSession serves a session, and NewShards
// searches several of them as one view.
//
// The front decides and the shards count: a search is compiled, ordered, cut and advised
// upon by the front, from what all shards have. So the answer does not depend on how the
// partitions are distributed. See shardrun.go.
//
// A session is used by one goroutine at a time.
type Shard interface {
	// Call carries out one step. It fails with the errors of Searcher.Search, or with the
	// reason for which the shard cannot be reached.
	Call(ctx context.Context, call *ShardCall) (*ShardReply, error)
	// Partitions returns the partitions that the shard owns, also if it cannot be reached.
	Partitions() []int32
	// Close ends the session. Nothing that it returned may be read afterwards.
	Close()
}

// ShardCall is a step of a session: the first of its fields that is set. Begin starts a
// search, which the calls up to Render continue, in this order; it ends the search before.
// Its types consist of exported fields, so that package gob can encode them.
type ShardCall struct {
	// Open returns the state of the session.
	Open   bool
	Begin  *ShardBegin
	Survey *ShardSurvey
	// Rank returns the best documents for terms of the given weights.
	Rank  []float64
	Visit *ShardVisit
	// Score returns the files of hits without their text, and Render those of hits with
	// as many matches as they may show, both in the given order.
	Score  []ShardHitID
	Render []ShardQuota
	// End releases the memory of the search.
	End bool

	// Refs returns all refs that the caller may see.
	Refs bool
	// Names returns names near a word, Named whether the name of a file may contain all
	// of some words, Frames the files of the frames of a stack trace, and Places facts
	// about the files that the filters of a query select.
	Names  *ShardNames
	Named  []string
	Frames *ShardFrames
	Places *ShardPlaces
	// Letters finds files by letters of their paths.
	Letters *ShardLetters
}

// ShardReply is the answer to a ShardCall: the field of the same step is set.
type ShardReply struct {
	Open   *ShardState
	Begin  *ShardPlan
	Survey *ShardCandidates
	Rank   []ShardDocument
	Visit  *ShardHits
	// Files answer Score and Render.
	Files *ShardFiles

	Refs   []ShardRef
	Names  *ShardNearNames
	Named  bool
	Frames []ShardFrameFiles
	Places *ShardPlaceFacts
	Found  *ShardFoundFiles
}

// Step returns the name of the step, for metrics.
func (c *ShardCall) Step() string {
	for _, s := range []struct {
		name string
		set  bool
	}{
		{"open", c.Open}, {"begin", c.Begin != nil}, {"survey", c.Survey != nil}, {"rank", c.Rank != nil}, {"visit", c.Visit != nil},
		{"score", c.Score != nil}, {"render", c.Render != nil}, {"end", c.End},
	} {
		if s.set {
			return s.name
		}
	}
	return "advice"
}

// isValid reports whether the values of the call are ones that a front may send. Those that
// refer to the search are checked by their step.
func (c *ShardCall) isValid() bool {
	for _, q := range c.Render {
		if q.Matches < 0 {
			return false
		}
	}
	if b := c.Begin; b != nil && (b.Query == nil || b.Matches < 0 || b.Display < 0 || b.ContextLines < 0 || b.JoinLines < 0 || b.TimeLimit < 0) {
		return false
	}
	if n := c.Names; n != nil && (len(n.Word) > match.MaxNameBytes || n.MaxErrors < 0 || n.MaxErrors > NearErrors(n.Word)) {
		return false
	}
	return (c.Frames == nil || c.Frames.Query != nil && len(c.Frames.Frames) <= reading.MaxFrames) && (c.Places == nil || c.Places.Query != nil)
}

// answers reports whether the reply, which may be nil, has what the call asks for.
func (r *ShardReply) answers(c *ShardCall) bool {
	switch {
	case r == nil:
		return false
	case c.Open:
		return r.Open != nil
	case c.Begin != nil:
		return r.Begin != nil
	case c.Survey != nil:
		return r.Survey != nil
	case c.Visit != nil:
		return r.Visit != nil
	case c.Score != nil || c.Render != nil:
		return r.Files != nil
	case c.Names != nil:
		return r.Names != nil
	case c.Places != nil:
		return r.Places != nil
	case c.Letters != nil:
		return r.Found != nil
	}
	return true // an empty list
}

// ShardState describes the state of a session.
type ShardState struct {
	// Repositories are those that the caller may see.
	Repositories []*corpus.Repository
	// Restricted means that the caller may not see everything: see Restricted.
	Restricted bool
	// AsOf is the moment of the past that the state shows; empty for the present.
	AsOf string
	// Missing is the number of documents that refs name and no segment holds.
	Missing int
}

// ShardBegin is a Request, with the same meaning of its fields. The session knows which
// repositories are public.
type ShardBegin struct {
	Query                                     *syntax.Parsed
	Matches, Display, ContextLines, JoinLines int
	Whole, Explain, Facets                    bool
	AnyMatch                                  bool
	Line, FirstOfFile                         int
	LeafPoints                                map[string]float32
	Documents                                 []ShardDocument
	Ranked                                    []string
	TimeLimit                                 time.Duration
	// Restricted means that the caller may not see everything, at this shard or another.
	Restricted bool
}

// ShardDocument is a document of a shard. Worth, Repository and Path are set by Rank.
type ShardDocument struct {
	Segment  segment.ID
	Document segment.DocID

	Worth      float64
	Repository code.RepositoryID
	Path       []byte
}

// ShardPlan describes the segments that a search covers, in the order of the view.
type ShardPlan struct {
	Segments []ShardSegment
}

// ShardSegment is a segment of a partition.
type ShardSegment struct {
	Partition int32
	// Blocks is the size of its index. Lists are the numbers of blocks that may contain
	// each atom of the query; empty if they are not needed.
	Blocks int
	Lists  []int
}

// ShardSurvey counts the candidates of a search, up to one more than the threshold.
type ShardSurvey struct {
	Threshold int
	// Segments is the number of segments of all shards.
	Segments int
	// Rarity is the weight of each atom; nil if all weigh the same.
	Rarity []float64
}

// ShardCandidates is the result of a survey. Blocks is the size of the index, and Terms
// the numbers of blocks with each term of a ranked search.
type ShardCandidates struct {
	Candidates int
	Blocks     int
	Terms      []int
}

// ShardVisit searches the segments, after a survey with this number of candidates over all
// shards. Documents are visited before all others.
type ShardVisit struct {
	Candidates int
	Documents  []ShardDocument
}

// ShardHits are the hits of a shard.
type ShardHits struct {
	// Tasks has the tasks that searched documents.
	Tasks []ShardTask
	// The reasons why the shard did not visit everything.
	Halted, Exceeded, ScanExceeded, Damaged bool
	Stats                                   Stats
	Explain                                 []SegmentExplain
}

// ShardTask is a tier, by its position in the order of tiers, of a segment, by its position
// in ShardPlan.
type ShardTask struct {
	Number, Tier, Segment int
	Count                 int
	Considered            int // documents searched
	Ended                 bool
	Hits                  []ShardHit
}

// ShardHit is a hit, which may show some matches.
type ShardHit struct {
	Count    int
	Matches  int
	Near     uint8
	Estimate float32
	// File is set if the order or the facets of the answer need it.
	File *ShardHitFile
}

// ShardHitFile is the file of a hit.
type ShardHitFile struct {
	Repository code.RepositoryID
	Path       []byte
	Ref        code.Ref
	OtherRefs  []code.Ref
	Language   code.Language
	Traits     [len(facetTraits)]bool
}

// ShardHitID identifies a hit by the number of its task, and its position there.
type ShardHitID struct{ Task, Hit int }

// ShardQuota is a hit with the number of matches that it may show.
type ShardQuota struct {
	ID      ShardHitID
	Matches int
}

// ShardFiles are files, in the order of the call.
type ShardFiles struct {
	Files []ShardFile
	// DefinesMatch is Result.definesMatch of all files of the search up to now.
	DefinesMatch bool
	// Damaged means that a file is missing because it cannot be read.
	Damaged bool
	Stats   Stats
}

// ShardFile is a rendered file. Repo and the symbols of the chunks of File are not set.
type ShardFile struct {
	// Skipped means that the file is damaged or does not fit, and is not shown.
	Skipped    bool
	File       FileMatch
	Repository code.RepositoryID
	Symbols    []ShardSymbol
	Document   ShardDocument
	Size       int64
	Displayed  int
}

// ShardSymbol is the symbol at a range of a chunk.
type ShardSymbol struct {
	Chunk, Range int
	Symbol       code.Symbol
}

// ShardRef is a ref of a repository.
type ShardRef struct {
	Repository code.RepositoryID
	Ref        code.Ref
}

// ShardNames asks for names near a word: see NameSearch.NearNames, which sets the filters.
type ShardNames struct {
	Filters    *syntax.Parsed
	Word       string
	CaseCounts bool
	MaxErrors  int
	InText     bool
}

// ShardNearNames are the names that a shard found in some blocks of its index.
type ShardNearNames struct {
	Names  []ShardNearName
	Blocks int
}

// ShardNearName is a name with its distance and its number of occurrences.
type ShardNearName struct {
	Name            string
	Distance, Count int
}

// ShardFrames asks for the files of the frames of a stack trace, among those that a query
// selects.
type ShardFrames struct {
	Query  *syntax.Parsed
	Frames []reading.Frame
}

// ShardFrameFiles are the files that share most of the end of the path of a frame.
type ShardFrameFiles struct {
	Shared int
	Files  []ShardFrameFile
}

// ShardFrameFile is a file in a partition.
type ShardFrameFile struct {
	Partition        int32
	Repository, Path string
}

// ShardPlaces asks for facts about the files that the filters of a query on repositories
// select. All means that these filters select nothing at any shard, and all repositories
// count. Near asks instead for the paths near a word.
type ShardPlaces struct {
	Query      *syntax.Parsed
	Empty, All bool
	Restricted bool
	Near       string
}

// ShardPlaceFacts are facts about files: see placeSummary.
type ShardPlaceFacts struct {
	Files                       int
	Languages                   []string
	Matched                     []bool
	Satisfiable, Symbols, Known bool
	Near                        []string
}

// ShardLetters asks for the best files whose paths contain letters, by an estimate: see
// FileRequest.
type ShardLetters struct {
	Letters, Repository string
	Keep                int
}

// ShardFoundFiles are the best files of all that were found.
type ShardFoundFiles struct {
	Total int
	Files []ShardFoundFile
}

// ShardFoundFile is a file with its estimated score.
type ShardFoundFile struct {
	Score      int
	Repository code.RepositoryID
	Path       []byte
}

// RegisterShardTypes registers the types of the interfaces in calls with package gob.
var RegisterShardTypes = sync.OnceFunc(func() {
	for _, q := range []syntax.Query{
		&syntax.And{}, &syntax.Or{}, &syntax.Not{}, &syntax.Const{}, &syntax.Text{}, &syntax.File{}, &syntax.Repo{}, &syntax.Symbol{}, &syntax.Language{},
		&syntax.Revision{}, &syntax.Archived{}, &syntax.Fork{}, &syntax.Visibility{}, &syntax.Context{}, &syntax.RepoSet{}, &syntax.Line{}, &syntax.Kinds{}, &syntax.Is{},
		&syntax.RepoHas{}, &syntax.FileHas{}, &syntax.Owned{},
	} {
		gob.Register(q)
	}
})
