package navigate

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A target is a token that defines a name: the token of a definition or of a local name.
type target struct {
	file    *source
	token   int
	binding *names.Binding // set for a local name
}

func (t *target) definition() *code.Definition { return t.file.names.DefinitionAt(t.token) }

// resolve returns the meanings of the name at a token of a file, likeliest first; nil if
// none is known.
func (r *resolver) resolve(ctx context.Context, in *source, i int) []target {
	found := alignCall(in, i, alignTag(in, i, r.resolveToken(ctx, in, i)))
	if in.names.HasOverloads() && in.names.DefinitionAt(i) == nil {
		n := in.names.Arguments(i)
		slices.SortStableFunc(found, func(a, b target) int {
			return compareBool(a.file.names.TakesArguments(a.token, n), b.file.names.TakesArguments(b.token, n))
		})
	}
	return found
}

// alignTag puts a tag first where C refers to a tag, and another definition first where
// it does not: struct block is the structure, and block alone is the typedef of that
// name.
func alignTag(in *source, i int, found []target) []target {
	if in.language != "C" || len(found) == 0 {
		return found
	}
	isTagged, first := in.names.IsTagged(i), found[0]
	d := first.definition()
	if first.binding == nil && (d == nil || isTag(d.Kind) == isTagged) || first.binding != nil && !isTagged {
		return found
	}
	f := first.file.names
	for k := range f.Definitions {
		d := &f.Definitions[k]
		if d.Name != in.names.Word(i) || isTag(d.Kind) != isTagged || !isTagged && d.Kind != "typedef" {
			continue
		}
		if t, ok := f.TokenAt(int(d.Offset)); ok {
			return slices.Insert(found, 0, target{file: first.file, token: t})
		}
	}
	return found
}

// alignCall puts a Rust method before the field of the same name in a call: Rust requires
// parentheses around a field that is called.
func alignCall(in *source, i int, found []target) []target {
	if in.language != "Rust" || len(found) == 0 || found[0].binding != nil || in.names.Receiver(i) == nil || !in.names.IsCalled(i) {
		return found
	}
	field := found[0].definition()
	if field == nil || names.IsFunction(field.Kind) || field.Parent == "" {
		return found
	}
	f := found[0].file.names
	for k := range f.Definitions {
		d := &f.Definitions[k]
		if d.Name != field.Name || d.Parent != field.Parent || !names.IsFunction(d.Kind) {
			continue
		}
		if t, ok := f.TokenAt(int(d.Offset)); ok {
			return slices.Insert(found, 0, target{file: found[0].file, token: t})
		}
	}
	return found
}

// isTag reports whether C requires a keyword before the names of definitions of the kind.
func isTag(kind code.SymbolKind) bool { return kind == "struct" || kind == "union" || kind == "enum" }

func (r *resolver) resolveToken(ctx context.Context, in *source, i int) []target {
	f := in.names
	name := f.Word(i)
	if one := f.ImportAt(i); one != nil {
		if found := r.resolveImport(ctx, in, one); len(found) > 0 {
			return found
		}
	}
	if in.language == "Kotlin" && f.DefinitionAt(i) != nil { // fun T.f()
		return []target{{file: in, token: i}}
	}
	if x := f.Receiver(i); x != nil {
		return r.resolveMember(ctx, in, x, name, 0)
	}
	if f.DefinitionAt(i) != nil {
		return []target{{file: in, token: i}}
	}
	if t, ok := f.LiteralOfKey(i); ok {
		if found := r.membersOf(ctx, r.typeIn(in, t), name, 0); len(found) > 0 {
			return found
		}
	}
	if x := f.CalleeOfKey(i); x != nil {
		if found := r.parametersOf(ctx, in, x, name); len(found) > 0 {
			return found
		}
	}
	return r.resolveName(ctx, in, name, i, 0)
}

// isNamed reports whether a plain name may refer to a definition: it cannot refer to a
// package, or to a constructor, which has the name of its type.
func isNamed(s *code.Symbol) bool {
	return s.Kind != "package" && (s.Name != s.Parent || names.IsType(s.Kind))
}

// resolveName returns the meanings of a name without a receiver at token i.
func (r *resolver) resolveName(ctx context.Context, in *source, name string, i, depth int) []target {
	f := in.names
	if b := f.Binding(name, i); b != nil && f.ImportAt(b.At) == nil {
		return []target{{file: in, token: b.At, binding: b}}
	}
	if f.HasImplicitSelf() {
		if t := f.ExtendedType(i); t.IsKnown() {
			if found := r.membersOf(ctx, r.typeIn(in, t), name, depth+1); len(found) > 0 {
				return found
			}
		}
		for _, class := range f.Classes(i) {
			if found := r.membersOf(ctx, typ{Type: names.Type{File: f, Name: class.Name, At: i}, src: in, def: class}, name, depth+1); len(found) > 0 {
				return found
			}
		}
		if class, def := f.Class(i); class != "" && def == nil {
			if found := r.membersOf(ctx, typ{Type: names.Type{File: f, Name: class, At: i}, src: in}, name, depth+1); len(found) > 0 {
				return found
			}
		}
	}
	around := sync.OnceValue(func() map[string]bool { return f.EnclosingNames(i) })
	for k := range f.Definitions { // in the file
		if d := &f.Definitions[k]; d.Name == name && isInScope(f, d, around) {
			if t, ok := f.TokenAt(int(d.Offset)); ok {
				return []target{{file: in, token: t}}
			}
		}
	}
	if one := f.ImportOf(name); one != nil {
		if found := r.resolveImport(ctx, in, one); len(found) > 0 {
			return found
		}
		if one.Spec > 0 || one.At > 0 { // it is not indexed, or it is a module
			return []target{{file: in, token: max(one.Spec, one.At)}}
		}
	}
	return r.guess(ctx, in, name, i)
}

// isInScope reports whether a definition of the file is visible without a receiver in a
// place in the bodies of the definitions named around.
func isInScope(f *names.File, d *code.Definition, around func() map[string]bool) bool {
	switch {
	case d.Kind == "package" || d.Kind == "implementation":
		return false
	case d.Parent == "", d.ParentKind == "package", d.ParentKind == "namespace", d.ParentKind == "module":
		return true
	case names.IsFunction(d.ParentKind):
		return around()[d.Parent]
	case d.ParentKind == "enum" && (f.Language == "C" || f.Language == "C++"):
		return true
	}
	return names.IsType(d.Kind)
}

// resolveImport returns the definitions of an imported member in the files of its module.
func (r *resolver) resolveImport(ctx context.Context, in *source, one *names.Import) []target {
	places := in.names.Places(one)
	if one.Member == "" || one.Member == "*" {
		return nil // a module is not a symbol
	}
	name := one.Member
	if name == "default" {
		name = one.Name
	}
	found := r.inPlaces(ctx, in, name, places, func(s *code.Symbol) bool {
		return s.Parent == "" || names.IsType(s.Kind) || !names.IsType(s.ParentKind) || strings.HasSuffix(one.Module, "."+s.Parent)
	})
	if len(found) > 0 || names.IsExternal(one.Module) {
		return found
	}
	// The module re-exports a definition of another module.
	var near []*candidate
	all := r.lookup(ctx, name, in.repo.Name, "", in.language)
	for k := range all {
		if c := &all[k]; isNamed(c.symbol) && !names.IsType(c.symbol.ParentKind) && !names.IsFunction(c.symbol.ParentKind) {
			near = append(near, c)
		}
	}
	sortNear(near, in)
	if len(places) > 0 {
		slices.SortStableFunc(near, func(a, b *candidate) int {
			return commonDirectories(b.path, places[0].Path+"/") - commonDirectories(a.path, places[0].Path+"/")
		})
	}
	return r.openAll(ctx, near[:min(len(near), maxOpened)])
}

// inPlaces returns the definitions of a name in files of the first of the places that has
// any, in the repository of in or else in the other repositories.
func (r *resolver) inPlaces(ctx context.Context, in *source, name string, places []names.Place, accept func(*code.Symbol) bool) []target {
	if len(places) == 0 {
		return nil
	}
	for _, repository := range []string{in.repo.Name, ""} {
		all := r.lookup(ctx, name, repository, "", in.language)
		if len(all) >= maxLookup || repository == "" && len(all) > 0 {
			all = r.lookup(ctx, name, repository, joinPatterns(places), in.language)
		}
		for k := range places {
			var found []*candidate
			for n := range all {
				if c := &all[n]; isNamed(c.symbol) && accept(c.symbol) && places[k].Matches(c.repo.Name, c.path) {
					found = append(found, c)
				}
			}
			if len(found) > 0 {
				sortNear(found, in)
				if targets := r.openAll(ctx, found[:min(len(found), maxOpened)]); len(targets) > 0 {
					return targets
				}
			}
		}
	}
	return nil
}

// maxOpened bounds the files read for one name.
const maxOpened = 4

// sortNear orders candidates by their distance from a file, and puts tests last.
func sortNear(all []*candidate, in *source) {
	test := isTestPath(in.path)
	slices.SortStableFunc(all, func(a, b *candidate) int {
		return cmp.Or(
			compareBool(a.repo == in.repo, b.repo == in.repo),
			compareBool(test || !isTestPath(a.path), test || !isTestPath(b.path)),
			commonDirectories(b.path, in.path)-commonDirectories(a.path, in.path),
			compareBool(a.symbol.Parent == "", b.symbol.Parent == ""),
			len(a.path)-len(b.path), strings.Compare(a.path, b.path), int(a.symbol.Offset)-int(b.symbol.Offset),
		)
	})
}

// compareBool orders true before false.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// commonDirectories counts the directories that two paths have in common.
func commonDirectories(a, b string) int {
	n := 0
	for {
		x, restA, okA := strings.Cut(a, "/")
		y, restB, okB := strings.Cut(b, "/")
		if !okA || !okB || x != y {
			return n
		}
		a, b, n = restA, restB, n+1
	}
}

func isTestPath(p string) bool {
	lower := strings.ToLower(p)
	return strings.Contains(lower, "test") || strings.Contains(lower, "spec/") || strings.Contains(lower, ".spec.")
}

func (r *resolver) openAll(ctx context.Context, all []*candidate) (out []target) {
	for _, c := range all {
		s := r.open(ctx, c)
		if s == nil {
			continue
		}
		if i, ok := s.names.TokenAt(int(c.symbol.Offset)); ok {
			out = append(out, target{file: s, token: i})
		}
	}
	return out
}

// guess returns the definitions of a name without a receiver if neither the file nor an
// import by name determines its meaning: those of the package, then those of modules
// whose names are all imported, then the nearest.
func (r *resolver) guess(ctx context.Context, in *source, name string, i int) []target {
	all := r.lookup(ctx, name, in.repo.Name, "", in.language)
	places := []names.Place{}
	if siblings, ok := in.names.Siblings(); ok {
		places = append(places, siblings)
	}
	for k := range in.names.Imports {
		if one := &in.names.Imports[k]; one.All {
			places = append(places, in.names.Places(one)...)
		}
	}
	accept := func(s *code.Symbol) bool {
		return s.Parent == "" || names.IsType(s.Kind) || !names.IsType(s.ParentKind) || s.ParentKind == "enum"
	}
	if found := r.inPlaces(ctx, in, name, places, accept); len(found) > 0 {
		return found
	}
	if r.strict {
		return r.findOnlyType(ctx, in, all)
	}
	var near []*candidate
	for k := range all {
		if c := &all[k]; isNamed(c.symbol) && matchesUse(in, i, c.symbol) {
			near = append(near, c)
		}
	}
	if len(near) == 0 {
		for k := range all {
			if c := &all[k]; isNamed(c.symbol) {
				near = append(near, c)
			}
		}
	}
	sortNear(near, in)
	return r.openAll(ctx, near[:min(len(near), maxOpened)])
}

// findOnlyType returns the type among the candidates if all types among them are in one
// directory, as the parts of a type are. In a language whose imports do not name files, it
// returns the nearest type.
func (r *resolver) findOnlyType(ctx context.Context, in *source, all []candidate) []target {
	var near []*candidate
	for k := range all {
		if c := &all[k]; isNamed(c.symbol) && names.IsType(c.symbol.Kind) {
			near = append(near, c)
		}
	}
	sortNear(near, in)
	for _, c := range near {
		if path.Dir(c.path) != path.Dir(near[0].path) && in.names.LocatesImports() {
			return nil
		}
	}
	return r.openAll(ctx, near[:min(len(near), maxOpened)])
}

// matchesUse reports whether a name without a receiver may refer to a definition: a call
// refers to a function or a type.
func matchesUse(in *source, i int, s *code.Symbol) bool {
	if s.Parent != "" && names.IsType(s.ParentKind) && !names.IsType(s.Kind) && s.ParentKind != "enum" {
		return false
	}
	if in.names.IsCalled(i) {
		return names.IsFunction(s.Kind) || names.IsType(s.Kind) || s.Kind == "variable" || s.Kind == "constant"
	}
	return true
}

// guessMember returns the definitions of a member whose receiver has an unknown type:
// those in types named like the receiver, then the nearest.
func (r *resolver) guessMember(ctx context.Context, in *source, x *names.Expr, name string) []target {
	var near []*candidate
	all := r.lookup(ctx, name, in.repo.Name, "", in.language)
	for k := range all {
		if c := &all[k]; c.symbol.Parent != "" && c.symbol.ParentKind != "package" {
			near = append(near, c)
		}
	}
	if len(near) == 0 {
		for k := range all {
			if c := &all[k]; isNamed(c.symbol) {
				near = append(near, c)
			}
		}
	}
	sortNear(near, in)
	imported := r.importedPlaces(in)
	slices.SortStableFunc(near, func(a, b *candidate) int {
		return cmp.Or(
			scoreLikeness(x.Name, b.symbol.Parent)-scoreLikeness(x.Name, a.symbol.Parent),
			compareBool(a.path == in.path, b.path == in.path),
			compareBool(matchesAny(imported, a), matchesAny(imported, b)),
		)
	})
	return r.openAll(ctx, near[:min(len(near), maxOpened)])
}

func (r *resolver) importedPlaces(in *source) (out []names.Place) {
	for k := range in.names.Imports {
		if places := in.names.Places(&in.names.Imports[k]); len(places) > 0 {
			out = append(out, places[0])
		}
	}
	return out
}

func matchesAny(places []names.Place, c *candidate) bool {
	return slices.ContainsFunc(places, func(p names.Place) bool { return p.Matches(c.repo.Name, c.path) })
}

// scoreLikeness scores the similarity of a variable to the name of a type: 3 for the same
// letters, 2 for its end, 1 for its capitals or its beginning.
func scoreLikeness(variable, typeName string) int {
	v, t := strings.ToLower(strings.Trim(variable, "_")), strings.ToLower(typeName)
	v = strings.ReplaceAll(v, "_", "")
	switch {
	case v == "" || t == "":
		return 0
	case v == t:
		return 3
	case strings.HasSuffix(t, v) && len(v) > 2, strings.HasSuffix(v, t) && len(t) > 2:
		return 2
	case v == joinCapitals(typeName), len(v) > 2 && strings.HasPrefix(t, v):
		return 1
	}
	return 0
}

// joinCapitals returns the first letters of the words of a name, in lower case.
func joinCapitals(name string) string {
	var b strings.Builder
	for i, c := range name {
		if i == 0 || c >= 'A' && c <= 'Z' {
			b.WriteRune(c)
		}
	}
	return strings.ToLower(b.String())
}

// sameDirectory reports whether two files are in one directory of a repository.
func sameDirectory(a *source, c *candidate) bool {
	return a.repo == c.repo && path.Dir(a.path) == path.Dir(c.path)
}
