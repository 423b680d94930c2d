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

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MaxMatches bounds the matches of an answer.
const MaxMatches = 1000

// ErrInvalid says that a Request is invalid, with the field.
var ErrInvalid = errors.New("invalid request")

// Searcher runs a query; search.Searcher is one.
type Searcher interface {
	// Search returns the matches of r in v. See search.Searcher.
	Search(ctx context.Context, v search.View, r search.Request) (*search.Result, error)
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
	// Prefix finds the definitions of names that begin with Symbol, too.
	Prefix bool
	// Kind is the kind of the definitions, a value of the filter kind: in any case; empty means all.
	Kind string
}

// Result lists the matches by file.
type Result struct {
	Files []File
	// Matches counts the matches in Files.
	Matches int
	// Exhaustive says that there are no others.
	Exhaustive bool
	// Notices say which conditions of the request select nothing, as filters of the
	// query language; only if there are no matches.
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

// File is a file with at least one match.
type File struct {
	Repo     *search.Repository
	Ref      code.Ref
	Path     string
	Language code.Language
	Matches  []Match
}

// Match is one occurrence.
type Match struct {
	// Line is the line of the match with its line end; lines, if it spans some.
	Line  []byte
	Range search.Range
	// Symbol is what is defined here; nil if nothing is.
	Symbol *code.Symbol
}

// Navigator answers requests by searches.
type Navigator struct{ searcher Searcher }

// New returns a Navigator that searches by s.
func New(s Searcher) *Navigator { return &Navigator{s} }

// Definitions returns where r.Symbol is defined. Its errors wrap ErrInvalid or
// are the search's.
func (n *Navigator) Definitions(ctx context.Context, v search.View, r Request) (*Result, error) {
	pattern := wholeWord(r.Symbol)
	if r.Prefix {
		pattern = "^" + regexp.QuoteMeta(r.Symbol)
	}
	symbol := &syntax.Symbol{Pattern: pattern, Case: syntax.CaseYes}
	if r.Kind != "" {
		symbol.Kinds = []syntax.Kinds{{Words: []string{strings.ToLower(r.Kind)}}}
	}
	return n.findSymbol(ctx, v, r, symbol)
}

// References returns where r.Symbol occurs, definitions included. Its errors
// wrap ErrInvalid or are the search's.
func (n *Navigator) References(ctx context.Context, v search.View, r Request) (*Result, error) {
	return n.findSymbol(ctx, v, r, &syntax.Text{Pattern: wholeWord(r.Symbol), Regexp: true, Case: syntax.CaseYes})
}

func (n *Navigator) findSymbol(ctx context.Context, v search.View, r Request, leaf syntax.Query) (*Result, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	if r.hasRevision() {
		v = exactRevision{v, r.Revision}
	}
	found, err := n.searcher.Search(ctx, v, search.Request{Query: r.buildQuery(leaf), Matches: MaxMatches})
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

// requestNotices leaves those that are about conditions of the request. The relatives of a
// language are one condition, which selects something if any of them does.
func (r *Request) requestNotices(found []syntax.Notice) (out []syntax.Notice) {
	var ofLanguage []syntax.Notice
	for _, n := range found {
		switch key, name, _ := strings.Cut(n.Filter, ":"); {
		case n.Code != syntax.FilterSelectsNothing || key == "sym":
		case key != "lang":
			out = append(out, n)
		case strings.EqualFold(strings.Trim(name, `"`), r.Language):
			ofLanguage = slices.Insert(ofLanguage, 0, n)
		default:
			ofLanguage = append(ofLanguage, n)
		}
	}
	if len(ofLanguage) > 0 && len(ofLanguage) == len(relatedLanguages(r.Language)) {
		out = append(out, ofLanguage[0])
	}
	return out
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
	}
	return nil
}

// maxLanguageBytes is above the longest name that linguist has.
const maxLanguageBytes = 64

func (r *Request) hasRevision() bool {
	return r.Revision != "" && r.Revision != syntax.DefaultRevision
}

// buildQuery joins leaf with the filters of r.
func (r *Request) buildQuery(leaf syntax.Query) *syntax.Parsed {
	children := []syntax.Query{leaf}
	if r.Repository != "" {
		children = append(children, &syntax.RepoSet{Names: []string{r.Repository}})
	}
	if r.Language != "" {
		children = append(children, languageFilter(r.Language))
	}
	if r.hasRevision() {
		children = append(children, &syntax.Revision{Pattern: r.Revision})
	}
	root := leaf
	if len(children) > 1 {
		root = &syntax.And{Children: children}
	}
	return &syntax.Parsed{Root: root, Text: root.String()}
}

// relatedLanguages are languages that share symbols: a header may count as either, and
// modules of one import the other's.
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

// exactRevision narrows what a Revision matches, a substring of ref names, to the
// one name that was requested.
type exactRevision struct {
	search.View
	name string
}

// Restricted says what the view says that it narrows: see search.Restricted.
func (v exactRevision) Restricted() bool { return search.Restricted(v.View) }

// Revisions implements search.View.
func (v exactRevision) Revisions(ctx context.Context, match func(*search.Repository, code.Ref) bool) ([]search.Segment, []code.Ref, error) {
	return v.View.Revisions(ctx, func(r *search.Repository, ref code.Ref) bool { return match(r, ref) && v.Admits(ref) })
}

// Admits reports whether a ref has the requested name. Search uses it to report
// that none has.
func (v exactRevision) Admits(ref code.Ref) bool {
	return string(ref) == v.name || ref.Short() == v.name
}
