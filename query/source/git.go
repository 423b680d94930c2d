package source

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Git is implemented by the role that holds the mirrors. Paths are encoded by
// code.SpellPath in both directions. Errors wrap ErrNoRevision, ErrNoPath, ErrBinary,
// ErrTooLarge, ErrTimeout, ErrNoObject or ErrUnavailable where one fits. All methods end with the
// context and are safe for concurrent use; the caller owns the results.
type Git interface {
	// Resolve returns the commit that a name refers to; HEAD is the branch head.
	Resolve(ctx context.Context, id code.RepositoryID, name code.RevisionName, head code.Ref) (code.CommitID, error)
	// Reach returns which kind of ref leads to a commit. indexed are the indexed refs, with their
	// commits in the index: those of an old mirror may lead to commits that were dropped.
	Reach(ctx context.Context, id code.RepositoryID, commit code.CommitID, indexed []code.Revision) (Reach, error)
	// Branches returns the branches as of the last fetch, in any order; Indexed and
	// Default are not set.
	Branches(ctx context.Context, id code.RepositoryID) ([]Branch, error)
	// File returns a file, or the target of a symbolic link, of at most maxBytes.
	File(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (File, error)
	// Directories returns the entries of the given directories that exist, "" being the
	// root. It returns at most limit entries in total, or ErrTooLarge.
	Directories(ctx context.Context, id code.RepositoryID, commit code.CommitID, paths []string, limit int) (map[string][]Entry, error)
	// Files returns the paths of all files in order: at most limit, or ErrTooLarge.
	Files(ctx context.Context, id code.RepositoryID, commit code.CommitID, limit int) ([]string, error)
	// Log returns a page of a history, newest first.
	Log(ctx context.Context, id code.RepositoryID, q LogQuery) ([]Commit, error)
	// CountLog returns how many commits q selects; it ignores Skip and Limit.
	CountLog(ctx context.Context, id code.RepositoryID, q LogQuery) (int, error)
	// LastChanges returns the newest commits that changed a path, by "", and the entries of the
	// directory that it is, by name. Older ones than its bounds are missing. isCut means that
	// its time ended before everything was found.
	LastChanges(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, names []string) (
		changes map[string]Commit, isCut bool, err error)
	// Authors returns the authors of the commits reachable from a commit, below a path if
	// it is not empty, most commits first.
	Authors(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string) ([]Author, error)
	// Content returns the bytes of a file as they are in git, or the target of a symbolic
	// link, of at most maxBytes.
	Content(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) ([]byte, error)
	// MergeBase returns the best common ancestor of two commits, or ErrNoRevision if they
	// have none.
	MergeBase(ctx context.Context, id code.RepositoryID, a, b code.CommitID) (code.CommitID, error)
	// Diff returns the differences between two commits, below a path if it is not empty,
	// or ErrTooLarge if they exceed maxBytes. base may be the empty tree.
	Diff(ctx context.Context, id code.RepositoryID, base, head code.CommitID, path string, maxBytes int64) ([]FileDiff, error)
	// Blame returns the origin of each line of a file of at most maxBytes.
	Blame(ctx context.Context, id code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (*Blame, error)
}

// Reach is the kind of ref that leads to a commit.
type Reach int

// The values of Reach.
const (
	// ReachNone: no ref that a client may name leads to it.
	ReachNone Reach = iota
	// ReachFetched: a ref that is not indexed, or not yet.
	ReachFetched
	// ReachIndexed: an indexed ref.
	ReachIndexed
)

// File is the text of a file.
type File struct {
	// Text is usually UTF-8, whatever the encoding in git.
	Text     []byte
	Language code.Language
	// Blob is git's name of the content; empty if the index contains only its beginning.
	Blob string
	// Skipped is the reason why searches do not find the file; empty if they do, or if
	// its revision is not indexed.
	Skipped code.SkipReason
	// PartialSymbols is the reason why symbols are missing in the index; empty if none
	// are.
	PartialSymbols code.PartialReason
}

// Kind is the type of a directory entry, in git's terms.
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
	// Commit is the commit that a submodule points to; set only by git.
	Commit code.CommitID
}

// LogQuery selects commits. Only Commit is required; Log needs Limit as well.
type LogQuery struct {
	Commit code.CommitID
	// Except excludes this commit and the commits reachable from it; empty excludes none.
	Except code.CommitID
	// Path selects the commits that change it or something below it.
	Path string
	// Follow continues under the former name of a renamed file.
	Follow bool
	// FirstLine and LastLine select the commits that changed these lines of the file
	// Path, wherever the lines were then and under its former names; 0 means none.
	FirstLine, LastLine int
	// Message and Author select commits with a matching line: POSIX basic regular
	// expressions, ignoring case.
	Message, Author string
	// Since and Until bound the committer's time, in seconds; 0 means no bound.
	Since, Until int64
	Skip, Limit  int
}

// Commit is a commit in a history. Names are mapped by the repository's mailmap.
type Commit struct {
	ID      code.CommitID
	Parents []code.CommitID
	// Date is the author date in RFC 3339, in the author's time zone.
	Date        string
	AuthorName  string
	AuthorEmail string
	// CommitDate is the committer's date, by which a history is sorted.
	CommitDate string
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

// FileDiff is the difference in one file.
type FileDiff struct {
	// Old is empty for an added file, New for a deleted one.
	Old, New string
	// Hunks are empty for a binary file and if only the name or mode changed.
	Hunks []Hunk
}

// Hunk is a run of changed lines with three lines of context.
type Hunk struct {
	Old, New LineSpan
	// Heading is the context that git shows for the place; may be empty.
	Heading string
	// Body holds the lines with their ' ', '+' or '-', without the last line feed.
	Body string
}

// LineSpan is a run of lines; Start is 0 if there are none.
type LineSpan struct{ Start, Lines int }

// Blame maps each line of a file to the commit that wrote it. It is shared and must not
// be modified.
type Blame struct {
	// Ranges cover the file in order; adjacent ranges differ in commit or path.
	Ranges  []BlameRange
	Commits map[code.CommitID]BlameCommit
}

// BlameRange is a run of lines that one commit wrote in one file.
type BlameRange struct {
	Commit code.CommitID
	Path   string
	Start  int // first line, from 1
	Lines  int
}

// BlameCommit describes a commit of a blame.
type BlameCommit struct {
	Time        time.Time // the author's time
	Subject     string
	AuthorName  string
	AuthorEmail string
	// Previous and PreviousPath locate the predecessors of the lines; empty if the commit
	// created the file.
	Previous     code.CommitID
	PreviousPath string
}
