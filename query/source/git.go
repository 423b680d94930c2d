package source

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Git is what the role that holds the mirrors answers. Paths are spelled by
// code.SpellPath in both directions. Errors wrap ErrNoRevision, ErrNoPath,
// ErrBinary, ErrTooLarge, ErrTimeout or ErrUnavailable where one fits. All methods
// end with the context and are safe for concurrent use; what they return is the
// caller's.
type Git interface {
	// Resolve returns the commit that a name means; HEAD is the branch head.
	Resolve(ctx context.Context, id code.RepositoryID, name code.RevisionName, head code.Ref) (code.CommitID, error)
	// Reach returns which refs lead to a commit.
	Reach(ctx context.Context, id code.RepositoryID, commit code.CommitID) (Reach, error)
	// Branches returns the branches as last fetched, in any order; Indexed and
	// Default are not set.
	Branches(ctx context.Context, id code.RepositoryID) ([]Branch, error)
	// File returns a file, or the target of a symbolic link, of at most maxBytes.
	File(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (File, error)
	// Directories returns those of the given directories that are there, "" being
	// the root; together at most limit entries, or ErrTooLarge.
	Directories(ctx context.Context, id code.RepositoryID, commit code.CommitID, paths []string, limit int) (map[string][]Entry, error)
	// Files returns the paths of all files, in order; at most limit, or ErrTooLarge.
	Files(ctx context.Context, id code.RepositoryID, commit code.CommitID, limit int) ([]string, error)
	// Log returns a page of a history, newest first.
	Log(ctx context.Context, id code.RepositoryID, q LogQuery) ([]Commit, error)
	// CountLog returns how many commits q selects; Skip and Limit do not count.
	CountLog(ctx context.Context, id code.RepositoryID, q LogQuery) (int, error)
	// Authors returns who wrote the commits that lead to a commit, below a path if
	// it is not empty, who wrote most first.
	Authors(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string) ([]Author, error)
	// Content returns the bytes of a file as they are in git, or the target of a
	// symbolic link, of at most maxBytes.
	Content(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) ([]byte, error)
	// MergeBase returns the best common ancestor of two commits; ErrNoRevision if they
	// have none.
	MergeBase(ctx context.Context, id code.RepositoryID, a, b code.CommitID) (code.CommitID, error)
	// Diff returns what differs between two commits, below a path if it is not
	// empty; ErrTooLarge if it takes more than maxBytes. base may be the tree without
	// entries.
	Diff(ctx context.Context, id code.RepositoryID, base, head code.CommitID, path string, maxBytes int64) ([]FileDiff, error)
	// Blame returns who wrote the lines of a file of at most maxBytes.
	Blame(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (*Blame, error)
}

// Reach says which refs of a repository lead to a commit.
type Reach int

// The values of Reach.
const (
	// ReachNone: no ref that a client may name.
	ReachNone Reach = iota
	// ReachFetched: one that is not indexed, or not yet.
	ReachFetched
	// ReachIndexed: one that is indexed.
	ReachIndexed
)

// File is the text of a file.
type File struct {
	// Text is UTF-8 as a rule, whatever the encoding in git.
	Text     []byte
	Language code.Language
	// Blob is git's name of the content; empty if the index knows only its
	// beginning.
	Blob string
	// Skipped is the reason for which searches do not find the file; empty if they
	// do, or if its revision is not indexed.
	Skipped code.SkipReason
	// PartialSymbols is the reason for which symbols of the index are missing; empty if
	// none are.
	PartialSymbols code.PartialReason
}

// Kind is what an entry of a directory is, in git's words.
type Kind string

// The kinds of entries. A symbolic link is a blob; a commit is a submodule.
const (
	KindTree   Kind = "tree"
	KindBlob   Kind = "blob"
	KindCommit Kind = "commit"
)

// Entry is a name in a directory.
type Entry struct {
	Name string
	Kind Kind
	// Commit is what a submodule points to; known to git only.
	Commit code.CommitID
}

// LogQuery selects commits. Only Commit is required; Log needs Limit as well.
type LogQuery struct {
	Commit code.CommitID
	// Except leaves out what leads to this commit, and the commit itself; empty is none.
	Except code.CommitID
	// Path keeps the commits that change it or something below it.
	Path string
	// Follow goes on under the former name of a renamed file.
	Follow bool
	// FirstLine and LastLine keep the commits that changed these lines of the file Path,
	// where they were then and under its former names; 0 is none.
	FirstLine, LastLine int
	// Message and Author keep commits of which a line matches: POSIX basic regular
	// expressions, in any case.
	Message, Author string
	// Since and Until bound the committer's time, in seconds; 0 is no bound.
	Since, Until int64
	Skip, Limit  int
}

// Commit is a commit in a history. Names are those of the repository's mailmap.
type Commit struct {
	ID      code.CommitID
	Parents []code.CommitID
	// Date is the author's, as ISO 8601 in the author's zone.
	Date        string
	AuthorName  string
	AuthorEmail string
	// Refs are the branches and tags at the commit, as git log shows them.
	Refs    string
	Subject string
	// Body is the rest of the message, with its last line feed.
	Body string
}

// Author is a person who wrote commits.
type Author struct {
	Name    string
	Email   string
	Commits int
}

// FileDiff is what differs in one file.
type FileDiff struct {
	// Old is empty for a file that was added, New for one that was deleted.
	Old, New string
	// Hunks are empty for a binary file and for a change of name or mode alone.
	Hunks []Hunk
}

// Hunk is a run of changed lines with three lines around them.
type Hunk struct {
	Old, New LineSpan
	// Heading is what git shows of the place; may be empty.
	Heading string
	// Body has the lines with their ' ', '+' or '-', without the last line feed.
	Body string
}

// LineSpan is a run of lines; Start is 0 where there are none.
type LineSpan struct{ Start, Lines int }

// Blame says which commit wrote which line of a file. It is shared and must not be
// modified.
type Blame struct {
	// Ranges cover the file in order; neighbours differ in commit or path.
	Ranges  []BlameRange
	Commits map[code.CommitID]BlameCommit
}

// BlameRange is a run of lines that one commit wrote in one file.
type BlameRange struct {
	Commit code.CommitID
	Path   string
	Start  int // line, from 1
	Lines  int
}

// BlameCommit is the information that a blame has about a commit.
type BlameCommit struct {
	Time        time.Time // the author's
	Subject     string
	AuthorName  string
	AuthorEmail string
	// Previous and PreviousPath say where the predecessors of the lines are; empty
	// if the commit made the file.
	Previous     code.CommitID
	PreviousPath string
}
