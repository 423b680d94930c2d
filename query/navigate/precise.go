package navigate

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds on the contribution of precise indexes to an answer.
const (
	maxPreciseTime        = 2 * time.Second
	maxPreciseDefinitions = 50 // files that define a symbol or its implementations
	filesPerSearch        = 50 // files that one search reads
)

// WithPrecise returns a Navigator that also uses precise indexes.
func (n *Navigator) WithPrecise(p *precise.Store) *Navigator {
	return &Navigator{n.searcher, n.outline, p}
}

// meaning is the meaning of the position of a request according to a precise index.
type meaning struct {
	resolver *resolver
	symbol   precise.Symbol
	// repos holds the repositories that the caller may read, by ID.
	repos map[code.RepositoryID]*corpus.Repository
	scope *precise.Scope
}

// meaningAt returns the meaning of the position of r according to precise indexes; nil if
// none covers it.
func (n *Navigator) meaningAt(ctx context.Context, r *resolver) *meaning {
	if n.precise == nil || r.home == nil || r.request.Kind != "" {
		return nil
	}
	start, _ := r.home.names.Range(r.token)
	all := n.precise.Occurrences(ctx, precise.Text{Repository: r.home.repo.ID, Path: r.home.path, Text: r.home.text})
	o := precise.FindOccurrence(all, pointAt(r.home.text, start))
	if o == nil {
		return nil
	}
	symbol := precise.Symbol{Repository: r.home.repo.ID, Path: r.home.path, Name: o.Symbol}
	m := &meaning{resolver: r, symbol: symbol, repos: map[code.RepositoryID]*corpus.Repository{}, scope: &precise.Scope{Near: symbol}}
	for _, repo := range r.view.Repositories() {
		if repo != nil {
			m.repos[repo.ID] = repo
			m.scope.Among = append(m.scope.Among, repo.ID)
		}
	}
	m.scope.Owners = &owners{navigator: n, view: r.view, repos: m.repos, found: map[scip.Package]code.RepositoryID{}}
	return m
}

// pointAt returns the line and column of a byte of a text.
func pointAt(text []byte, offset int) scip.Point {
	begin := bytes.LastIndexByte(text[:offset], '\n') + 1
	return scip.Point{Line: bytes.Count(text[:begin], []byte{'\n'}), Column: offset - begin}
}

// addPrecise puts the places of the named symbols before the matches found without
// precise indexes, and drops those of the latter that are at the same places.
func (n *Navigator) addPrecise(ctx context.Context, m *meaning, names []string, use precise.Use, out *Result) {
	ctx, cancel := context.WithTimeout(ctx, maxPreciseTime)
	defer cancel()
	files, complete := n.precise.Files(ctx, m.scope, names, use)
	if use == precise.Definition && len(files) > maxPreciseDefinitions {
		files, complete = files[:maxPreciseDefinitions], false
	}
	found := &Result{Exhaustive: complete}
	for _, batch := range m.batches(files, use) {
		n.readBatch(ctx, m, batch, names, use, found)
	}
	found.merge(out)
	*out = *found
	out.trim()
}

// batch is a group of files of one repository that one search reads.
type batch struct {
	repo  *corpus.Repository
	paths []string
}

// batches groups the files within the scope of the request. Each file for a definition is
// read alone, because the symbol may have another name there.
func (m *meaning) batches(files []precise.File, use precise.Use) (out []batch) {
	wanted := m.resolver.request.Repository
	for _, f := range files {
		repo := m.repos[f.Repository]
		if repo == nil || wanted != "" && repo.Name != wanted {
			continue
		}
		if last := len(out) - 1; use == precise.AnyUse && last >= 0 && out[last].repo == repo && len(out[last].paths) < filesPerSearch {
			out[last].paths = append(out[last].paths, f.Path)
			continue
		}
		out = append(out, batch{repo, []string{f.Path}})
	}
	return out
}

// readBatch reads files through the view of the request, and adds the places of the
// symbols in them.
func (n *Navigator) readBatch(ctx context.Context, m *meaning, b batch, names []string, use precise.Use, out *Result) {
	patterns := make([]string, len(b.paths))
	for i, path := range b.paths {
		patterns[i] = regexp.QuoteMeta(path)
	}
	text, matches := wholeWord(m.resolver.request.Symbol), MaxMatches
	if use == precise.Definition {
		text, matches = ".", 1
	}
	in := Request{Repository: b.repo.Name, Language: m.resolver.request.Language}
	if b.repo == m.resolver.home.repo {
		in.Revision = m.resolver.revision
	}
	query := in.buildQuery(&syntax.And{Children: []syntax.Query{
		&syntax.Text{Pattern: text, Regexp: true, Case: syntax.CaseYes},
		&syntax.File{Pattern: "^(?:" + strings.Join(patterns, "|") + ")$", Case: syntax.CaseYes},
	}})
	found, err := n.searcher.Search(ctx, m.resolver.view, search.Request{Query: query, Matches: matches, Whole: true, WithoutAdvice: true})
	if err != nil {
		out.Exhaustive = false // what was found before is still an answer
		return
	}
	defer found.Release()
	for i := range found.Files {
		f := &found.Files[i]
		if len(f.Content) == 0 || !slices.Contains(b.paths, f.Path) {
			continue
		}
		file := File{Repo: f.Repo, Ref: f.Ref, Path: f.Path, Language: f.Language, Matches: n.preciseMatches(ctx, m, f, names, use)}
		if len(file.Matches) > 0 {
			out.Files = append(out.Files, file)
			out.Matches += len(file.Matches)
		}
	}
}

// preciseMatches returns matches for the places of the symbols in a file.
func (n *Navigator) preciseMatches(ctx context.Context, m *meaning, f *search.FileMatch, names []string, use precise.Use) (out []Match) {
	var in *source
	if use == precise.Definition {
		in = m.resolver.readSource(f)
	}
	for _, o := range n.precise.Occurrences(ctx, precise.Text{Repository: f.Repo.ID, Path: f.Path, Text: f.Content}) {
		defined := o.Roles&scip.RoleDefinition != 0
		if use == precise.Definition && !defined || !slices.ContainsFunc(names, func(name string) bool { return n.isPlaceOf(ctx, m, name, f, &o) }) {
			continue
		}
		start, end := precise.Offset(f.Content, o.Start), precise.Offset(f.Content, o.End)
		if start < 0 || o.Start.Line != o.End.Line || end == start && use == precise.AnyUse {
			continue // a file as a module; no text there names it
		}
		match := newMatch(f.Content, start, end)
		match.Precise, match.Role, match.Relation = true, RoleReference, RelationMeaning
		if defined {
			match.Role = RoleDefinition
		}
		if in != nil {
			match.addDefinition(in, start)
		}
		out = append(out, match)
	}
	return out
}

// isSame reports whether two names denote the same symbol: a name that is local to a file
// counts only in that file.
func (m *meaning) isSame(name string, f *search.FileMatch, other string) bool {
	if scip.IsLocal(name) {
		return name == other && f.Repo.ID == m.symbol.Repository && f.Path == m.symbol.Path
	}
	return scip.IsSame(name, other)
}

// isPlaceOf reports whether an occurrence in a file is a place of the named symbol. Each
// repository decides where it uses a symbol, but only the definer of the symbol decides
// where it is defined.
func (n *Navigator) isPlaceOf(ctx context.Context, m *meaning, name string, f *search.FileMatch, o *scip.Occurrence) bool {
	return m.isSame(name, f, o.Symbol) &&
		(o.Roles&scip.RoleDefinition == 0 || f.Repo.ID == m.symbol.Repository || n.precise.IsDefiner(ctx, m.scope, f.Repo.ID, name))
}

// newMatch returns a match for part of one line of a text.
func newMatch(text []byte, start, end int) Match {
	point := pointAt(text, start)
	begin := start - point.Column
	line := text[begin:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i+1]
	}
	location := func(at int) search.Location {
		return search.Location{ByteOffset: at, LineNumber: point.Line + 1, Column: utf8.RuneCount(text[begin:at]) + 1}
	}
	return Match{Line: bytes.Clone(line), Range: search.Range{Start: location(start), End: location(end)}}
}

// addDefinition adds the outline's description of the definition at an offset.
func (m *Match) addDefinition(in *source, offset int) {
	i, ok := in.names.TokenAt(offset)
	if !ok {
		return
	}
	if d := in.names.DefinitionAt(i); d != nil {
		m.Symbol, m.Definition, m.Role = &d.Symbol, d, roleOf(d)
	}
}

// merge appends the matches of other that r does not have. If both have a match, merge
// adds the details that only other has.
func (r *Result) merge(other *Result) {
	type key struct {
		repo *corpus.Repository
		path string
	}
	mine := map[key]*File{}
	for i := range r.Files {
		mine[key{r.Files[i].Repo, r.Files[i].Path}] = &r.Files[i]
	}
	var rest []File
	for _, f := range other.Files {
		if known := mine[key{f.Repo, f.Path}]; known != nil {
			f.Matches = slices.DeleteFunc(f.Matches, func(m Match) bool { return known.complete(&m) })
		}
		if len(f.Matches) > 0 {
			rest = append(rest, f)
			r.Matches += len(f.Matches)
		}
	}
	r.Files = append(r.Files, rest...)
	r.TextMatches += other.TextMatches
	r.Exhaustive = r.Exhaustive && other.Exhaustive
	if r.Matches == 0 {
		r.Notices = other.Notices
	}
}

// complete reports whether the file has a match at the place of m, and copies the symbol
// of m to it.
func (f *File) complete(m *Match) bool {
	for i := range f.Matches {
		own := &f.Matches[i]
		if own.Range.Start.ByteOffset != m.Range.Start.ByteOffset {
			continue
		}
		if own.Symbol == nil {
			own.Symbol, own.Definition = m.Symbol, m.Definition
		}
		return true
	}
	return false
}

// dropOthers drops the references that precise indexes assign to another symbol, and
// marks those that they assign to the symbol.
func (n *Navigator) dropOthers(ctx context.Context, m *meaning, f *File, found *search.FileMatch) {
	if scip.IsLocal(m.symbol.Name) && (f.Repo.ID != m.symbol.Repository || f.Path != m.symbol.Path) {
		f.Matches = nil
		return
	}
	all := n.precise.Occurrences(ctx, precise.Text{Repository: f.Repo.ID, Path: f.Path, Text: found.Content})
	if len(all) == 0 {
		return
	}
	f.Matches = slices.DeleteFunc(f.Matches, func(match Match) bool {
		at := pointAt(found.Content, match.Range.Start.ByteOffset)
		i, ok := slices.BinarySearchFunc(all, at, func(o scip.Occurrence, p scip.Point) int { return o.Start.Compare(p) })
		if !ok {
			return false
		}
		for ; i < len(all) && all[i].Start == at; i++ {
			if m.isSame(m.symbol.Name, found, all[i].Symbol) {
				return false
			}
		}
		return true
	})
	for i := range f.Matches {
		match := &f.Matches[i]
		at := pointAt(found.Content, match.Range.Start.ByteOffset)
		if o := precise.FindOccurrence(all, at); o != nil && o.Start == at && n.isPlaceOf(ctx, m, m.symbol.Name, found, o) {
			match.Precise, match.Relation = true, RelationMeaning
		}
	}
}
