package navigate

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// definitionsAt returns the definitions of the symbol at r.Position, its meaning there
// first.
func (n *Navigator) definitionsAt(ctx context.Context, v corpus.View, r Request) (*Result, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	at, err := n.openPosition(ctx, v, &r)
	if err != nil {
		return nil, err
	}
	if at.home == nil {
		return r.emptyResult(), nil
	}
	meant := at.resolve(ctx, at.home, at.token)
	out, err := n.findDefinitions(ctx, v, r)
	if err != nil {
		return nil, err
	}
	at.rank(out, meant)
	if m := n.meaningAt(ctx, at); m != nil {
		n.addPrecise(ctx, m, []string{m.symbol.Name}, precise.Definition, out)
	}
	return out, nil
}

// rank puts the definitions that the position refers to first, and orders the others by
// their relation to the position.
func (r *resolver) rank(out *Result, meant []target) {
	for i := range out.Files {
		f := &out.Files[i]
		for k := range f.Matches {
			m := &f.Matches[k]
			m.Role, m.Relation = RoleDefinition, r.relationOf(f, m.Range.Start.ByteOffset)
			r.describe(f, m)
		}
	}
	order := map[fileKey]int{}
	for n, t := range meant {
		if r.isWanted(&t) {
			r.addTarget(out, &t, n)
			if key := (fileKey{t.file.repo, t.file.ref, t.file.path}); order[key] == 0 {
				order[key] = len(meant) - n
			}
		}
	}
	for i := range out.Files {
		f := &out.Files[i]
		slices.SortStableFunc(f.Matches, func(a, b Match) int { return compareRelations(a.Relation, b.Relation) })
	}
	slices.SortStableFunc(out.Files, func(a, b File) int {
		return cmp.Or(
			order[fileKey{b.Repo, b.Ref, b.Path}]-order[fileKey{a.Repo, a.Ref, a.Path}],
			compareBool(r.sharesNames(a.Language), r.sharesNames(b.Language)),
			compareRelations(a.Matches[0].Relation, b.Matches[0].Relation),
		)
	})
	out.trim()
}

func compareRelations(a, b Relation) int {
	return slices.Index(relations, a) - slices.Index(relations, b)
}

// trim drops the last matches until at most MaxMatches remain.
func (r *Result) trim() {
	for r.Matches > MaxMatches {
		last := &r.Files[len(r.Files)-1]
		r.Exhaustive = false
		if drop := r.Matches - MaxMatches; drop < len(last.Matches) {
			last.Matches = last.Matches[:len(last.Matches)-drop]
			r.Matches = MaxMatches
			return
		}
		r.Matches -= len(last.Matches)
		r.Files = r.Files[:len(r.Files)-1]
	}
}

// isWanted reports whether a definition meets the conditions of the request.
func (r *resolver) isWanted(t *target) bool {
	q := r.request
	switch {
	case q.Repository != "" && q.Repository != t.file.repo.Name:
		return false
	case q.Language != "" && !slices.ContainsFunc(relatedLanguages(q.Language), func(l string) bool { return strings.EqualFold(l, string(t.file.language)) }):
		return false
	case q.Kind != "":
		return false // a search finds and ranks the definitions of a kind
	}
	return true
}

// addTarget marks the match of target n, and adds the match if out lacks it, as it does
// for a local name. Target 0 is the meaning; the others follow it.
func (r *resolver) addTarget(out *Result, t *target, n int) {
	start, end := t.file.names.Range(t.token)
	relation := RelationMeaning
	if n > 0 {
		relation = r.relationOf(&File{Repo: t.file.repo, Path: t.file.path}, start)
	}
	match := matchIn(t.file, start, end)
	match.Role, match.Relation = RoleDefinition, relation
	for i := range out.Files {
		f := &out.Files[i]
		if f.Repo != t.file.repo || f.Path != t.file.path {
			continue
		}
		for k := range f.Matches {
			if m := &f.Matches[k]; m.Range.Start.ByteOffset == start {
				if compareRelations(relation, m.Relation) < 0 {
					m.Relation = relation
				}
				r.describe(f, m)
				return
			}
		}
		r.describe(f, &match)
		f.Matches = append(f.Matches, match)
		out.Matches++
		return
	}
	f := File{Repo: t.file.repo, Ref: t.file.ref, Path: t.file.path, Language: t.file.language}
	r.describe(&f, &match)
	f.Matches = []Match{match}
	out.Files = append(out.Files, f)
	out.Matches++
	out.Notices = nil
}

// describe adds the outline's description of a definition, if its file was read.
func (r *resolver) describe(f *File, m *Match) {
	s := r.files[fileKey{f.Repo, f.Ref, f.Path}]
	if s == nil {
		return
	}
	i, ok := s.names.TokenAt(m.Range.Start.ByteOffset)
	if !ok {
		return
	}
	if d := s.names.DefinitionAt(i); d != nil {
		m.Definition = d
		m.Role = roleOf(d)
	}
}

func roleOf(d *code.Definition) Role {
	if d.Declaration {
		return RoleDeclaration
	}
	return RoleDefinition
}

// matchIn returns a match for part of a file.
func matchIn(s *source, start, end int) Match {
	line := 1 + bytes.Count(s.text[:start], []byte("\n"))
	begin := bytes.LastIndexByte(s.text[:start], '\n') + 1
	location := func(at int) search.Location {
		return search.Location{ByteOffset: at, LineNumber: line, Column: utf8.RuneCount(s.text[begin:at]) + 1}
	}
	m := Match{Line: bytes.Clone(lineAround(s.text, start, end)), Range: search.Range{Start: location(start), End: location(end)}}
	if i, ok := s.names.TokenAt(start); ok {
		if d := s.names.DefinitionAt(i); d != nil {
			m.Symbol = &d.Symbol
		}
	}
	return m
}

// relationOf returns the relation of a place to the position, as far as the files read
// show it.
func (r *resolver) relationOf(f *File, offset int) Relation {
	home := r.home
	switch {
	case f.Repo == home.repo && f.Path == home.path:
		if r.sharesScope(offset) {
			return RelationScope
		}
		return RelationFile
	case r.sharesPackage(f.Repo, f.Path):
		return RelationPackage
	case home.names.ImportsFile(f.Repo.Name, f.Path):
		return RelationImport
	case f.Repo == home.repo:
		return RelationRepository
	}
	return RelationOther
}

// sharesScope reports whether an offset in the file of the position is in the function or
// class around the position.
func (r *resolver) sharesScope(offset int) bool {
	f := r.home.names
	around := f.Enclosing(r.token, func(k code.SymbolKind) bool { return names.IsFunction(k) })
	if around == nil {
		around = f.Enclosing(r.token, names.IsType)
	}
	return around != nil && uint32(offset) >= around.Offset && offset < f.BodyEnd(around)
}

// sharesPackage reports whether a file is in the package of the position.
func (r *resolver) sharesPackage(repo *corpus.Repository, path string) bool {
	siblings, ok := r.home.names.Siblings()
	return ok && repo == r.home.repo && siblings.Matches(repo.Name, path)
}

// sharesNames reports whether a language shares names with the language of the position.
func (r *resolver) sharesNames(language code.Language) bool {
	return slices.Contains(names.Family(r.home.language), string(language))
}
