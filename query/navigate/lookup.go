package navigate

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A resolver follows a name from the file in which it is used to its definition. It
// serves one request.
type resolver struct {
	navigator *Navigator
	view      corpus.View
	revision  string // of the position
	request   *Request
	budget    budget
	// strict excludes guesses: names and members of unknown types have no meaning.
	strict bool

	home  *source // the file of the position; nil if the symbol is not there
	token int     // of the symbol in home

	files    map[fileKey]*source
	sources  map[*names.File]*source
	lookups  map[lookupKey][]candidate
	compared map[targetPair]certainty
	// walked has the least depth at which each member was looked for in vain by the outermost
	// membersOf, because types may form a cycle or a lattice.
	walked map[memberKey]int
}

// A budget bounds the work of a resolver.
type budget struct {
	deadline        time.Time
	searches, bytes int // that are left
}

type fileKey struct {
	repository *corpus.Repository
	ref        code.Ref
	path       string
}

// A source is a file that was read.
type source struct {
	repo     *corpus.Repository
	ref      code.Ref
	path     string
	language code.Language
	text     []byte
	names    *names.File
}

// A candidate is a definition in the index.
type candidate struct {
	repo     *corpus.Repository
	ref      code.Ref
	path     string
	language code.Language
	symbol   *code.Symbol
	file     *source // nil until it is read
}

type lookupKey struct{ name, repository, paths, parent string }

// readSource reads a file of a search's result.
func (r *resolver) readSource(f *search.FileMatch) *source {
	key := fileKey{f.Repo, f.Ref, f.Path}
	if s := r.files[key]; s != nil {
		return s
	}
	tokens, _ := r.navigator.outline.Tokens(f.Language, f.Content, maxFileTokens)
	definitions, _ := r.navigator.outline.Describe(f.Language, f.Content) // on error, those found so far
	return r.addSource(f, tokens, definitions)
}

// addSource keeps a file of a search's result with its tokens and definitions.
func (r *resolver) addSource(f *search.FileMatch, tokens []code.Token, definitions []code.Definition) *source {
	s := &source{repo: f.Repo, ref: f.Ref, path: f.Path, language: f.Language, text: f.Content}
	s.names = names.Read(f.Path, f.Language, s.text, tokens, definitions)
	r.budget.bytes -= len(s.text)
	r.files[fileKey{f.Repo, f.Ref, f.Path}], r.sources[s.names] = s, s
	return s
}

// maxFileTokens bounds the tokens read from one file.
const maxFileTokens = 1 << 19

// isExhausted reports whether the resolver must not read any more.
func (r *resolver) isExhausted(ctx context.Context) bool {
	b := &r.budget
	return b.searches <= 0 || b.bytes <= 0 || time.Now().After(b.deadline) || ctx.Err() != nil
}

// lookup returns the definitions of a name in a repository, or in all repositories if
// repository is empty; if paths is set, only those in files whose path matches. A failed
// search finds nothing, because the results so far are still an answer.
func (r *resolver) lookup(ctx context.Context, name, repository, paths string, language code.Language) []candidate {
	return r.searchDefinitions(ctx, lookupKey{name: name, repository: repository, paths: paths}, language)
}

// lookupMembers returns the definitions of a name in the repository of a file, or only those
// in a parent if there are too many.
func (r *resolver) lookupMembers(ctx context.Context, in *source, parent, name string) []candidate {
	key := lookupKey{name: name, repository: in.repo.Name}
	all := r.searchDefinitions(ctx, key, in.language)
	if len(all) >= maxLookup {
		key.parent = parent
		all = r.searchDefinitions(ctx, key, in.language)
	}
	return all
}

func (r *resolver) searchDefinitions(ctx context.Context, key lookupKey, language code.Language) []candidate {
	if found, ok := r.lookups[key]; ok {
		return found
	}
	name := key.name
	if name == "" || len(name) > code.MaxSymbolBytes || r.isExhausted(ctx) {
		return nil
	}
	r.budget.searches--
	children := []syntax.Query{&syntax.Symbol{Pattern: "^" + regexp.QuoteMeta(name) + "$", Case: syntax.CaseYes, Parent: key.parent}, familyFilter(language)}
	if key.paths != "" {
		children = append(children, &syntax.File{Pattern: key.paths, Case: syntax.CaseYes})
	}
	in := Request{Repository: key.repository}
	if key.repository == r.home.repo.Name {
		in.Revision = r.revision
	}
	found, err := r.navigator.searcher.Search(ctx, r.view, search.Request{
		Query: in.buildQuery(&syntax.And{Children: children}), Matches: maxLookup, WithoutAdvice: true,
	})
	if err != nil {
		return nil
	}
	defer found.Release()
	var out []candidate
	for i := range found.Files {
		f := &found.Files[i]
		for k := range f.Chunks {
			for _, s := range f.Chunks[k].Symbols {
				if s != nil && s.Name == name {
					symbol := *s
					out = append(out, candidate{repo: f.Repo, ref: f.Ref, path: f.Path, language: f.Language, symbol: &symbol})
				}
			}
		}
	}
	r.lookups[key] = out
	return out
}

// open reads the file of a candidate; nil if it cannot be read.
func (r *resolver) open(ctx context.Context, c *candidate) *source {
	if c.file != nil {
		return c.file
	}
	if s := r.files[fileKey{c.repo, c.ref, c.path}]; s != nil {
		c.file = s
		return s
	}
	if r.isExhausted(ctx) {
		return nil
	}
	r.budget.searches--
	in := Request{Repository: c.repo.Name}
	if c.repo.Name == r.home.repo.Name {
		in.Revision = r.revision
	}
	query := in.buildQuery(&syntax.And{Children: []syntax.Query{
		&syntax.Symbol{Pattern: "^" + regexp.QuoteMeta(c.symbol.Name) + "$", Case: syntax.CaseYes},
		&syntax.File{Pattern: "^" + regexp.QuoteMeta(c.path) + "$", Case: syntax.CaseYes},
	}})
	found, err := r.navigator.searcher.Search(ctx, r.view, search.Request{Query: query, Matches: 1, Whole: true, WithoutAdvice: true})
	if err != nil {
		return nil
	}
	defer found.Release()
	for i := range found.Files {
		if f := &found.Files[i]; f.Path == c.path && len(f.Content) > 0 {
			c.file = r.readSource(f)
			return c.file
		}
	}
	return nil
}

// familyFilter selects the languages that share names with language.
func familyFilter(language code.Language) syntax.Query {
	or := &syntax.Or{}
	for _, name := range names.Family(language) {
		or.Children = append(or.Children, &syntax.Language{Name: name})
	}
	if len(or.Children) == 1 {
		return or.Children[0]
	}
	return or
}

// joinPatterns returns a regular expression that matches any of the places.
func joinPatterns(places []names.Place) string {
	var all []string
	for i := range places {
		if p := places[i].Pattern(); p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, "|")
}
