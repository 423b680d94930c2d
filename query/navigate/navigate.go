package navigate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/reading"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MaxMatches bounds the matches of an answer.
const MaxMatches = 1000

// ErrInvalid reports an invalid Request; the error names the field.
var ErrInvalid = errors.New("invalid request")

// Searcher runs a query; assist.Searcher is one.
type Searcher interface {
	// Search returns the matches of r in v. See assist.Searcher.
	Search(ctx context.Context, v corpus.View, r search.Request) (*search.Result, error)
}

// Request names a symbol and where to look.
type Request struct {
	// Symbol is the name, 1 to code.MaxSymbolBytes bytes without line breaks.
	Symbol string
	// Language restricts the search to a language and its relatives (see
	// relatives); empty means all.
	Language string
	// Revision is the short or full name of a branch or tag; empty or HEAD means
	// the default branch of each repository.
	Revision string
	// Repository is the full name of a repository; empty means all.
	Repository string
	// Prefix also finds definitions of names that begin with Symbol.
	Prefix bool
	// Kind is a value of the filter kind, in any letter case; empty means all.
	Kind string
	// Position is where the symbol is used; nil if unknown. The meaning of the symbol
	// there comes first, then the matches nearest to it.
	Position *Position
	// IncludeText also requests references in comments, strings and prose.
	IncludeText bool
	// IncludeEnclosing requests the function or type around each reference.
	IncludeEnclosing bool
}

// Result lists the matches by file.
type Result struct {
	Files []File
	// Matches counts the matches in Files.
	Matches int
	// TextMatches counts the references in comments, strings and prose that were left
	// out.
	TextMatches int
	// Exhaustive reports whether these are all the matches.
	Exhaustive bool
	// Notices, which are set only if there are no matches, name the conditions of the
	// request that select nothing, as filters of the query language, suggest names near
	// the symbol, or report that the symbol is not at the position.
	Notices []syntax.Notice
}

// Kinds returns the kinds of the symbols that are defined at the matches, sorted.
func (r *Result) Kinds() (kinds []string) {
	for i := range r.Files {
		for _, m := range r.Files[i].Matches {
			if m.Symbol != nil && !slices.Contains(kinds, string(m.Symbol.Kind)) {
				kinds = append(kinds, string(m.Symbol.Kind))
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// PreciseMatches counts the matches that come from a precise index.
func (r *Result) PreciseMatches() (n int) {
	for i := range r.Files {
		for _, m := range r.Files[i].Matches {
			if m.Precise {
				n++
			}
		}
	}
	return n
}

// File is a file with at least one match.
type File struct {
	Repo     *corpus.Repository
	Ref      code.Ref
	Path     string
	Language code.Language
	Matches  []Match
}

// Match is one occurrence.
type Match struct {
	// Line is the line of the match with its line end, or several lines if the match
	// spans them.
	Line  []byte
	Range search.Range
	// Symbol is the symbol defined here; nil if there is none.
	Symbol *code.Symbol
	// Role is empty if the file was not read to determine it.
	Role Role
	// Relation is the relation to the position of the request; empty without a position.
	Relation Relation
	// Definition describes the symbol defined here; nil if the file was not read.
	Definition *code.Definition
	// Enclosing is the innermost function or type around a reference, if the request asks
	// for it; nil at the top level, and if the file was not read.
	Enclosing *code.Definition
	// Precise reports whether a precise index places the symbol of the position here.
	Precise bool
	// unclear means that the type of the receiver is not known.
	unclear bool
}

// Role is the role of a match.
type Role string

// The roles.
const (
	RoleDefinition  Role = "definition"
	RoleDeclaration Role = "declaration" // without a body, such as a prototype or a method of an interface
	RoleReference   Role = "reference"
	RoleText        Role = "text" // in a comment, a string or prose
)

// Relation is the closest relation between a match and a position.
type Relation string

// The relations, nearest first.
const (
	RelationMeaning    Relation = "meaning" // the meaning of the symbol at the position
	RelationScope      Relation = "scope"   // the same function or class
	RelationFile       Relation = "file"
	RelationPackage    Relation = "package"
	RelationImport     Relation = "import" // one file imports the other
	RelationRepository Relation = "repository"
	RelationOther      Relation = "other"
	// RelationNamesake marks another symbol of the name, as far as the type of the
	// receiver and the scope show it.
	RelationNamesake Relation = "namesake"
)

// relations lists the relations, nearest first.
var relations = []Relation{RelationMeaning, RelationScope, RelationFile, RelationPackage, RelationImport, RelationRepository, RelationOther, RelationNamesake}

// Outline reads tokens and definitions of a text. Both bound their time.
type Outline interface {
	// Tokens returns the first tokens of a text, in order and at most max, and reports
	// whether these are all.
	Tokens(language code.Language, text []byte, max int) (tokens []code.Token, whole bool)
	// Describe returns the definitions in a text, in order. The error explains why some
	// are missing.
	Describe(language code.Language, text []byte) ([]code.Definition, error)
}

// Navigator answers requests with searches.
type Navigator struct {
	searcher Searcher
	outline  Outline
	precise  *precise.Store // nil without precise indexes
}

// New returns a Navigator that searches with s and reads the files found with o.
func New(s Searcher, o Outline) *Navigator { return &Navigator{s, o, nil} }

// Definitions returns the definitions of r.Symbol. With a position, the first match is
// the most likely meaning of the symbol there, which may be a local name. Errors wrap
// ErrInvalid or come from the search.
func (n *Navigator) Definitions(ctx context.Context, v corpus.View, r Request) (*Result, error) {
	if r.Position == nil {
		return n.findDefinitions(ctx, v, r)
	}
	return n.definitionsAt(ctx, v, r)
}

// findDefinitions returns all definitions of the name. A qualified name without a symbol
// finds those with its last name in its parent or, if there are none, in files, folders
// and repositories called like the parent.
func (n *Navigator) findDefinitions(ctx context.Context, v corpus.View, r Request) (*Result, error) {
	pattern := wholeWord(r.Symbol)
	if r.Prefix {
		pattern = "^" + regexp.QuoteMeta(r.Symbol)
	}
	symbol := &syntax.Symbol{Pattern: pattern, Case: syntax.CaseYes}
	if r.Kind != "" {
		symbol.Kinds = []syntax.Kinds{{Words: []string{strings.ToLower(r.Kind)}}}
	}
	found, err := n.findSymbol(ctx, v, r, symbol)
	name, qualified := reading.ReadQualified(r.Symbol)
	if err != nil || found.Matches > 0 || r.Prefix || !qualified {
		return found, err
	}
	member, placed := name.Symbol(syntax.CaseYes), name.Symbol(syntax.CaseYes)
	member.Parent, member.Kinds, placed.Kinds = name.Parent, symbol.Kinds, symbol.Kinds
	r.Symbol = name.Name
	for _, q := range []syntax.Query{member, &syntax.And{Children: []syntax.Query{name.Place(), placed}}} {
		other, err := n.findSymbol(ctx, v, r, q)
		if err != nil || other.Matches > 0 {
			return other, err
		}
		found.Exhaustive = found.Exhaustive && other.Exhaustive
	}
	return found, nil
}

// References returns the occurrences of r.Symbol as a whole identifier, including
// definitions; occurrences in comments, strings and prose only if r.IncludeText is set.
// With a position, the nearest files come first. Errors wrap ErrInvalid or come from the
// search.
func (n *Navigator) References(ctx context.Context, v corpus.View, r Request) (*Result, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	var at *resolver
	if r.Position != nil {
		var err error
		if at, err = n.openPosition(ctx, v, &r); err != nil {
			return nil, err
		}
		if at.home == nil {
			return r.emptyResult(), nil
		}
	}
	c := classifier{outline: n.outline, request: &r, at: at, users: map[*corpus.Repository]bool{}}
	if at != nil {
		c.precise = n.meaningAt(ctx, at)
		c.navigator = n
	}
	out, err := n.findText(ctx, v, r, &syntax.Text{Pattern: wholeWord(r.Symbol), Regexp: true, Case: syntax.CaseYes}, &c)
	if err != nil {
		return nil, err
	}
	c.sortFiles(out)
	if m := c.precise; m != nil {
		n.addPrecise(ctx, m, []string{m.symbol.Name}, precise.AnyUse, out)
	}
	return out, nil
}

// findText returns the matches of leaf with the symbol in them that c keeps.
func (n *Navigator) findText(ctx context.Context, v corpus.View, r Request, leaf syntax.Query, c *classifier) (*Result, error) {
	found, err := n.searcher.Search(ctx, v, search.Request{Query: r.buildQuery(leaf), Matches: MaxMatches, Whole: true, WithoutAdvice: r.isSpelled()})
	if err != nil {
		return nil, fmt.Errorf("find %q: %w", r.Symbol, err)
	}
	defer found.Release()
	out := newResult(found, func(content []byte, start, end int) bool { return hasWord(content, start, end, r.Symbol) })
	c.classifyAll(ctx, found, out)
	if out.Matches == 0 {
		out.Notices = r.requestNotices(found.Notices)
	}
	return out, nil
}

func (n *Navigator) findSymbol(ctx context.Context, v corpus.View, r Request, leaf syntax.Query) (*Result, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	found, err := n.searcher.Search(ctx, v, search.Request{Query: r.buildQuery(leaf), Matches: MaxMatches, WithoutAdvice: r.isSpelled()})
	if err != nil {
		return nil, fmt.Errorf("find %q: %w", r.Symbol, err)
	}
	defer found.Release()
	out := newResult(found, func(content []byte, start, end int) bool {
		if r.Prefix {
			return bytes.HasPrefix(content[start:end], []byte(r.Symbol))
		}
		return hasWord(content, start, end, r.Symbol)
	})
	if out.Matches == 0 {
		out.Notices = r.requestNotices(found.Notices)
	}
	return out, nil
}

// requestNotices returns the notices about conditions of the request, each with the
// parameter that it concerns. The relatives of a language are one condition, which
// selects something if any of them does. For the symbol, there is one notice that
// suggests near names.
func (r *Request) requestNotices(found []syntax.Notice) (out []syntax.Notice) {
	var ofLanguage []syntax.Notice
	for _, n := range found {
		switch key, name, _ := strings.Cut(n.Filter, ":"); {
		case n.Code == syntax.TermFindsNothing || key == "sym":
			if len(n.Suggestions) > 0 {
				n = syntax.Notice{Code: syntax.TermFindsNothing, Suggestions: n.Suggestions,
					Message: fmt.Sprintf("%s has no match. Did you mean %s?", r.Symbol, strings.Join(n.Suggestions, " or "))}
				out = append(out, placeNotice(n, "symbolName", r.Symbol))
			}
		case n.Code != syntax.FilterSelectsNothing:
		case key == "reposet":
			out = append(out, placeNotice(n, "repoName", r.Repository))
		case key == "rev":
			out = append(out, placeNotice(n, "revisionName", r.Revision))
		case key != "lang":
			out = append(out, n)
		case strings.EqualFold(strings.Trim(name, `"`), r.Language):
			ofLanguage = slices.Insert(ofLanguage, 0, n)
		default:
			ofLanguage = append(ofLanguage, n)
		}
	}
	if len(ofLanguage) > 0 && len(ofLanguage) == len(relatedLanguages(r.Language)) {
		out = append(out, placeNotice(ofLanguage[0], "language", r.Language))
	}
	return out
}

// placeNotice returns the notice with a parameter of the request as its place, which
// spans the whole value.
func placeNotice(n syntax.Notice, parameter, value string) syntax.Notice {
	n.Parameter, n.At = parameter, syntax.Span{End: len(value)}
	return n
}

func (r *Request) validate() error {
	switch {
	case r.Symbol == "" || len(r.Symbol) > code.MaxSymbolBytes:
		return fmt.Errorf("%w: symbolName: want 1 to %d bytes, have %d", ErrInvalid, code.MaxSymbolBytes, len(r.Symbol))
	case strings.ContainsAny(r.Symbol, "\r\n\x00") || !utf8.ValidString(r.Symbol):
		return fmt.Errorf("%w: symbolName: want text of one line", ErrInvalid)
	case r.Kind != "" && !slices.Contains(syntax.KindWords(), strings.ToLower(r.Kind)):
		return fmt.Errorf("%w: kind: want one of %s", ErrInvalid, strings.Join(syntax.KindWords(), ", "))
	case len(r.Language) > maxLanguageBytes:
		return fmt.Errorf("%w: language: want at most %d bytes, have %d", ErrInvalid, maxLanguageBytes, len(r.Language))
	case len(r.Revision) > code.MaxRefBytes:
		return fmt.Errorf("%w: revisionName: want at most %d bytes, have %d", ErrInvalid, code.MaxRefBytes, len(r.Revision))
	case len(r.Repository) > code.MaxNameBytes:
		return fmt.Errorf("%w: repoName: want at most %d bytes, have %d", ErrInvalid, code.MaxNameBytes, len(r.Repository))
	case r.Position != nil:
		return r.Position.validate()
	}
	return nil
}

// maxLanguageBytes exceeds the longest language name of linguist.
const maxLanguageBytes = 64

// isSpelled reports whether the symbol is known to be spelled correctly, because it
// occurs at the position. Near names would then be different symbols.
func (r *Request) isSpelled() bool { return r.Position != nil }

// buildQuery joins leaf with the filters of r.
func (r *Request) buildQuery(leaf syntax.Query) *syntax.Parsed {
	children := []syntax.Query{leaf}
	if r.Repository != "" {
		children = append(children, &syntax.RepoSet{Names: []string{r.Repository}})
	}
	if r.Language != "" {
		children = append(children, languageFilter(r.Language))
	}
	if r.Revision != "" && r.Revision != syntax.DefaultRevision {
		children = append(children, &syntax.Revision{Pattern: r.Revision, Exact: true})
	}
	root := leaf
	if len(children) > 1 {
		root = &syntax.And{Children: children}
	}
	return &syntax.Parsed{Root: root, Text: root.String()}
}

// relatedLanguages returns the languages that share symbols with language: a header may
// count as either language, and modules of one import those of the other.
func relatedLanguages(language string) []string {
	for _, family := range [][]string{{"C", "C++"}, {"TypeScript", "JavaScript", "JSX", "TSX"}} {
		for _, member := range family {
			if strings.EqualFold(member, language) {
				return family
			}
		}
	}
	return []string{language}
}

func languageFilter(language string) syntax.Query {
	or := &syntax.Or{}
	for _, name := range relatedLanguages(language) {
		or.Children = append(or.Children, &syntax.Language{Name: name})
	}
	if len(or.Children) == 1 {
		return or.Children[0]
	}
	return or
}
