package syntax

import "github.com/quarrysearch/quarry/schemas/code"

// Query is a node of a query tree: one of the pointer types of this file.
type Query interface {
	// String formats the node as a query for Parse with zero Options.
	String() string
	// Span is the position of the node in the text of the query.
	Span() Span
	queryNode()
}

// Span is a range of byte offsets in the text of a query. It is zero for nodes that were
// not read from text.
type Span struct{ Start, End int }

// And is true if every child is. Parse creates it with at least two children; without
// children it is true.
type And struct {
	Children []Query
	At       Span
}

// Or is true if any child is. Parse creates it with at least two children; without
// children it is false.
type Or struct {
	Children []Query
	At       Span
}

// Not is true if its child is false.
type Not struct {
	Child Query
	At    Span
}

// Const is true or false everywhere: "-()" or "()".
type Const struct {
	Value bool
	At    Span
}

// Text is a pattern in the content of a file: a bare word, a quoted string, or the value
// of content:, regex: or literal:. It never matches the path.
type Text struct {
	Pattern string // not empty; a regular expression if Regexp, otherwise literal text
	Regexp  bool
	Case    Case
	Lines   []Line // conditions on the line of the match; all must hold
	At      Span
}

// File is a regular expression that matches anywhere in the path of a file.
type File struct {
	Pattern string
	Case    Case
	At      Span
}

// Repo is a regular expression that matches anywhere in the full name of a repository.
type Repo struct {
	Pattern string
	Case    Case
	At      Span
}

// RepoHas selects the repositories that have a file whose path and text match, on the refs
// that the query covers: the value of repo: is has.file() or a similar predicate.
type RepoHas struct {
	Path, Content string // regular expressions, at least one; empty for any
	Case          Case   // of both
	// Found are the repositories, once they are known. Unfinished means that there may be
	// others. No query text sets these fields.
	Known, Unfinished bool
	Found             []code.RepositoryID
	At                Span
}

// FileHas is a regular expression that the text of a file matches. Unlike Text, it shows no
// matches: the value of file: is has.content().
type FileHas struct {
	Pattern string
	Case    Case
	At      Span
}

// Owned selects the files that the CODEOWNERS of their repository give to an owner: the value
// of file: is has.owner().
type Owned struct {
	Owner string // empty for any
	// Rules are those of the repositories whose rules name the owner, once they are known.
	// Unfinished means that there may be others. No query text sets these fields.
	Known, Unfinished bool
	Rules             []OwnersRules
	At                Span
}

// OwnersRules are the rules of a repository, in sections. The last rule of a section that
// matches a path decides; one section suffices.
type OwnersRules struct {
	Repository code.RepositoryID
	Sections   [][]OwnersRule
}

// OwnersRule says whether some paths have the owner: a file or directory with all below it or,
// if Path is empty, those that match a regular expression.
type OwnersRule struct {
	// Path has a slash before and after it. Anywhere means that the directories before it
	// do not matter, and Below that it is a directory.
	Path            string
	Anywhere, Below bool
	Pattern         string
	Owned           bool
}

// Symbol is a regular expression that matches anywhere in the name of a symbol that the
// file defines.
type Symbol struct {
	Pattern string
	Case    Case
	Kinds   []Kinds // conditions on the kind of the symbol; all must hold
	Lines   []Line  // conditions on the line of the symbol; all must hold
	// Parent is the exact name of the definition that contains the symbol; empty for any.
	// No query text sets it.
	Parent string
	At     Span
}

// Kinds is a condition on the kind of a symbol, the value of kind:. In a tree from Parse
// it is part of a Symbol.
type Kinds struct {
	Words []string // at least one, each a key of kindWords
	Not   bool     // the symbol has none of these kinds
	At    Span
}

// Line is a condition on the line of a match: the regular expression matches in it or,
// with Not, does not. It is the value of line:. In a tree from Parse it is part of a Text
// or a Symbol.
type Line struct {
	Pattern string
	Case    Case
	Not     bool
	At      Span
}

// Is is a condition on a trait of a file: the value of is:.
type Is struct {
	Trait Trait
	At    Span
}

// Trait is a fact about a file.
type Trait uint8

// The traits. docs/query-language.md describes how each is determined.
const (
	Test Trait = iota
	Vendored
	Generated
	Docs // documentation
)

// Language is the name or alias of a language as written; the search resolves it,
// ignoring case.
type Language struct {
	Name string
	At   Span
}

// Revision selects refs: a substring of the full ref name (refs/heads/main), AllRevisions
// or DefaultRevision. A tree without any Revision searches the default branch of each
// repository: see HasRevision.
type Revision struct {
	Pattern string
	// Exact means that the pattern is the name of a ref, full or short. No query text has it.
	Exact bool
	At    Span
}

// Revision patterns with a special meaning.
const (
	AllRevisions    = "*"
	DefaultRevision = "HEAD"
)

// Archived selects or excludes files of archived repositories.
type Archived struct {
	Want Inclusion
	At   Span
}

// Fork selects or excludes files of forks.
type Fork struct {
	Want Inclusion
	At   Span
}

// Visibility selects repositories by their visibility.
type Visibility struct {
	Want Access
	At   Span
}

// Context is the name of a search context, a named set of repositories.
type Context struct {
	Name string
	// Means are the filters of the saved search that the name stands for; nil if it is that of
	// a context of the configuration. They satisfy SelectsRepositories.
	Means Query
	At    Span
}

// RepoSet is a set of full repository names, matched exactly. Names contain no comma.
type RepoSet struct {
	Names []string // at least one; no name is empty
	At    Span
}

// Case is whether the letter case of a pattern must match exactly.
type Case uint8

const (
	CaseDefault Case = iota // not resolved yet; never in a tree from Parse
	CaseYes                 // exact
	CaseNo                  // folded, by simple Unicode case folding
)

// Inclusion is the value of archived: and fork:.
type Inclusion uint8

const (
	Yes  Inclusion = iota // included: no restriction
	No                    // excluded
	Only                  // everything else is excluded
)

// Access is the value of visibility:.
type Access uint8

const (
	Any Access = iota // no restriction
	Public
	Private
)

// TypeKind is the value of type:, the kind of thing to match by name and to list.
type TypeKind uint8

const (
	TypeDefault TypeKind = iota // no type: given: terms match content, results are matches in files
	TypeFile                    // terms match the path, results are files
	TypeRepo                    // terms match the repository name, results are repositories
	TypeSymbol                  // terms match symbol names, results are symbols
)

// SelectKind is the value of select:, the part of each result to show.
type SelectKind uint8

const (
	SelectDefault SelectKind = iota // no select: given: everything
	SelectRepo                      // one result for each repository with a match
	SelectFile                      // one result for each file with a match, without the matches
	SelectSymbol                    // only matches that lie on a symbol definition
	SelectContent                   // only matches in content, not those in the path
)

// Parsed is a whole query: the condition, and settings for the whole answer.
type Parsed struct {
	Root    Query // never nil
	Type    TypeKind
	Select  SelectKind
	Text    string   // as given to Parse
	Options Options  // the options it was parsed with
	Notices []Notice // what the writer may not have meant, by position; at most MaxNotices
}

// Options are the options of a request. The zero value is the default: literal terms,
// ignoring case.
type Options struct {
	Regexp        bool // terms are regular expressions
	CaseSensitive bool // terms, file: and sym: match case exactly, unless case: says otherwise
}

func (q *And) Span() Span        { return q.At }
func (q *Or) Span() Span         { return q.At }
func (q *Not) Span() Span        { return q.At }
func (q *Const) Span() Span      { return q.At }
func (q *Text) Span() Span       { return q.At }
func (q *File) Span() Span       { return q.At }
func (q *Repo) Span() Span       { return q.At }
func (q *Symbol) Span() Span     { return q.At }
func (q *Language) Span() Span   { return q.At }
func (q *Revision) Span() Span   { return q.At }
func (q *Archived) Span() Span   { return q.At }
func (q *Fork) Span() Span       { return q.At }
func (q *Visibility) Span() Span { return q.At }
func (q *Context) Span() Span    { return q.At }
func (q *RepoSet) Span() Span    { return q.At }
func (q *Line) Span() Span       { return q.At }
func (q *Kinds) Span() Span      { return q.At }
func (q *Is) Span() Span         { return q.At }
func (q *RepoHas) Span() Span    { return q.At }
func (q *FileHas) Span() Span    { return q.At }
func (q *Owned) Span() Span      { return q.At }

func (*And) queryNode()        {}
func (*Or) queryNode()         {}
func (*Not) queryNode()        {}
func (*Const) queryNode()      {}
func (*Text) queryNode()       {}
func (*File) queryNode()       {}
func (*Repo) queryNode()       {}
func (*Symbol) queryNode()     {}
func (*Language) queryNode()   {}
func (*Revision) queryNode()   {}
func (*Archived) queryNode()   {}
func (*Fork) queryNode()       {}
func (*Visibility) queryNode() {}
func (*Context) queryNode()    {}
func (*RepoSet) queryNode()    {}
func (*Line) queryNode()       {}
func (*Kinds) queryNode()      {}
func (*Is) queryNode()         {}
func (*RepoHas) queryNode()    {}
func (*FileHas) queryNode()    {}
func (*Owned) queryNode()      {}

func (q *And) String() string        { return Print(q, Options{}) }
func (q *Or) String() string         { return Print(q, Options{}) }
func (q *Not) String() string        { return Print(q, Options{}) }
func (q *Const) String() string      { return Print(q, Options{}) }
func (q *Text) String() string       { return Print(q, Options{}) }
func (q *File) String() string       { return Print(q, Options{}) }
func (q *Repo) String() string       { return Print(q, Options{}) }
func (q *Symbol) String() string     { return Print(q, Options{}) }
func (q *Language) String() string   { return Print(q, Options{}) }
func (q *Revision) String() string   { return Print(q, Options{}) }
func (q *Archived) String() string   { return Print(q, Options{}) }
func (q *Fork) String() string       { return Print(q, Options{}) }
func (q *Visibility) String() string { return Print(q, Options{}) }
func (q *Context) String() string    { return Print(q, Options{}) }
func (q *RepoSet) String() string    { return Print(q, Options{}) }
func (q *Line) String() string       { return Print(q, Options{}) }
func (q *Kinds) String() string      { return Print(q, Options{}) }
func (q *Is) String() string         { return Print(q, Options{}) }
func (q *RepoHas) String() string    { return Print(q, Options{}) }
func (q *FileHas) String() string    { return Print(q, Options{}) }
func (q *Owned) String() string      { return Print(q, Options{}) }
