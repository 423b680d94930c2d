package navigate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds on the search for types with the methods of a Go interface.
const (
	maxInterfaces       = 8  // interfaces of the name that are considered
	maxInterfaceMethods = 16 // methods of an interface that are searched for
	maxMethodMatches    = 5000
	maxImplementers     = 200
)

// Implementations returns the declarations of types that implement, extend or conform to
// the type r.Symbol. In most languages, a declaration names that type, and a search for
// such lines finds it:
//
//	class Pot(Kettle):            class Pot extends Ware implements Kettle
//	class Pot : Ware(), Kettle    impl Kettle for Pot
//
// A Go interface is implemented by the types of the same repository that have methods with
// all its names; signatures are not compared, and embedded interfaces are not followed.
// With a position, the implementations from a precise index come first. Errors wrap
// ErrInvalid or come from the search.
func (n *Navigator) Implementations(ctx context.Context, v corpus.View, r Request) (*Result, error) {
	r.Prefix = false
	if r.Position == nil {
		return n.findImplementations(ctx, v, r)
	}
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
	m := n.meaningAt(ctx, at)
	r.Position = nil
	out, err := n.findImplementations(ctx, v, r)
	if err == nil && m != nil {
		n.addPrecise(ctx, m, n.precise.Implementers(ctx, m.scope), precise.Definition, out)
	}
	return out, err
}

// findImplementations finds the implementations of a name.
func (n *Navigator) findImplementations(ctx context.Context, v corpus.View, r Request) (*Result, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	leaf := &syntax.Text{Pattern: heritageOf(r.Symbol), Regexp: true, Case: syntax.CaseYes}
	declared, err := n.findText(ctx, v, r, leaf, &classifier{outline: n.outline, request: &r})
	if err != nil {
		return nil, err
	}
	byMethods, err := n.goImplementations(ctx, v, r)
	if err != nil {
		return nil, fmt.Errorf("find implementations of %q: %w", r.Symbol, err)
	}
	declared.add(byMethods)
	return declared, nil
}

// add appends the files of another result.
func (r *Result) add(other *Result) {
	r.Files = append(r.Files, other.Files...)
	r.Matches += other.Matches
	r.Exhaustive = r.Exhaustive && other.Exhaustive
	if r.Matches > 0 {
		r.Notices = nil
	}
}

// heritageOf returns a regular expression for lines that declare a type that implements
// or extends the type called name.
func heritageOf(name string) string {
	word := `\b` + regexp.QuoteMeta(name) + `\b`
	n := word + `(?:[^.:\\]|:[^:]|$)` // not the qualifier of another name
	declares := `\b(?:class|interface|struct|record|enum|object|trait|protocol|extension|actor)\s+[\w$.]+\s*(?:<[^(){}]*>)?`
	return strings.Join([]string{
		// Java, TypeScript, PHP, Scala, Dart; constructor parameters may precede the
		// clause.
		declares + `\s*(?:\([^)]*\))?(?:\s+(?:extends|implements|with)\s+[^{]*?)` + n,
		// C#, Kotlin, Swift, C++.
		declares + `\s*(?:\([^)]*\))?\s*(?:final\s*)?:[^:{][^{]*?` + n,
		// Python.
		`\bclass\s+\w+\s*\((?:[^():]*[,.\s])?` + n,
		// Ruby.
		`\bclass\s+[\w:]+\s*<\s*(?:\w+::)*` + n,
		// Rust.
		`\bimpl\b[^{]*?` + word + `(?:<[^{]*>)?\s+for\s`,
		// Haskell.
		`^instance\s+(?:[^=]*=>\s*)?` + word,
		// Go, in a compile-time assertion.
		`\bvar\s+_\s+(?:\w+\.)?` + word + `\s*=`,
	}, "|")
}

// goType is a type of a Go package.
type goType struct {
	repo      *corpus.Repository
	ref       code.Ref
	directory string
	name      string
}

// goImplementations returns the declarations of Go types that have the methods of the
// interfaces named r.Symbol.
func (n *Navigator) goImplementations(ctx context.Context, v corpus.View, r Request) (*Result, error) {
	none := &Result{Exhaustive: true}
	if r.Language != "" && !strings.EqualFold(r.Language, "Go") {
		return none, nil
	}
	r.Language = "Go"
	definitions, err := n.Definitions(ctx, v, r)
	if err != nil {
		return nil, err
	}
	out := &Result{Exhaustive: definitions.Exhaustive}
	looked := 0
	for i := range definitions.Files {
		f := &definitions.Files[i]
		if !slices.ContainsFunc(f.Matches, func(m Match) bool { return m.Symbol != nil && m.Symbol.Kind == "interface" }) {
			continue
		}
		if looked++; looked > maxInterfaces {
			out.Exhaustive = false
			break
		}
		methods, err := n.interfaceMethods(ctx, v, &r, f)
		if err != nil {
			return nil, err
		}
		types, exhaustive, err := n.typesWithMethods(ctx, v, &r, f, methods)
		if err != nil {
			return nil, err
		}
		delete(types, goType{f.Repo, f.Ref, path.Dir(f.Path), r.Symbol})
		found, err := n.findDeclarations(ctx, v, &r, f.Repo.Name, types)
		if err != nil {
			return nil, err
		}
		found.Exhaustive = found.Exhaustive && exhaustive
		out.add(found)
	}
	return out, nil
}

// interfaceMethods returns the method names of the interface r.Symbol in a file, longest
// first, because long names are usually the rarest.
func (n *Navigator) interfaceMethods(ctx context.Context, v corpus.View, r *Request, f *File) ([]string, error) {
	found, err := n.searchSymbols(ctx, v, r, f.Repo.Name, &syntax.File{Pattern: "^" + regexp.QuoteMeta(f.Path) + "$", Case: syntax.CaseYes}, ".")
	if err != nil {
		return nil, err
	}
	defer found.Release()
	methods := map[string]bool{}
	eachSymbol(found, func(_ *search.FileMatch, s *code.Symbol) {
		if s.Parent == r.Symbol && s.ParentKind == "interface" {
			methods[s.Name] = true
		}
	})
	return slices.SortedFunc(maps.Keys(methods), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	}), nil
}

// typesWithMethods returns the types of the repository of f that have all the methods.
func (n *Navigator) typesWithMethods(ctx context.Context, v corpus.View, r *Request, f *File, methods []string) (types map[goType]bool, exhaustive bool, err error) {
	if len(methods) == 0 {
		return nil, true, nil
	}
	exhaustive = len(methods) <= maxInterfaceMethods
	for i, method := range methods[:min(len(methods), maxInterfaceMethods)] {
		found, err := n.searchSymbols(ctx, v, r, f.Repo.Name, &syntax.Language{Name: "Go"}, "^"+regexp.QuoteMeta(method)+"$")
		if err != nil {
			return nil, false, err
		}
		have := map[goType]bool{}
		eachSymbol(found, func(m *search.FileMatch, s *code.Symbol) {
			if s.Kind == "method" && s.Parent != "" && s.ParentKind != "interface" {
				have[goType{m.Repo, m.Ref, path.Dir(m.Path), s.Parent}] = true
			}
		})
		complete := found.Exhaustive
		found.Release()
		exhaustive = exhaustive && complete
		switch {
		case i == 0:
			types = have
		case complete:
			maps.DeleteFunc(types, func(t goType, _ bool) bool { return !have[t] })
		}
		if len(types) == 0 {
			break
		}
	}
	return types, exhaustive, nil
}

// findDeclarations returns the declarations of types.
func (n *Navigator) findDeclarations(ctx context.Context, v corpus.View, r *Request, repository string, types map[goType]bool) (*Result, error) {
	out := &Result{Exhaustive: len(types) <= maxImplementers}
	names := map[string]bool{}
	for t := range types {
		if len(names) < maxImplementers {
			names[regexp.QuoteMeta(t.name)] = true
		}
	}
	if len(names) == 0 {
		return out, nil
	}
	found, err := n.searchSymbols(ctx, v, r, repository, &syntax.Language{Name: "Go"}, "^(?:"+strings.Join(slices.Sorted(maps.Keys(names)), "|")+")$")
	if err != nil {
		return nil, err
	}
	defer found.Release()
	all := newResult(found, func([]byte, int, int) bool { return true })
	for i := range all.Files {
		f := &all.Files[i]
		f.Matches = slices.DeleteFunc(f.Matches, func(m Match) bool {
			return m.Symbol == nil || m.Symbol.Parent != "" || m.Symbol.Kind == "function" || !types[goType{f.Repo, f.Ref, path.Dir(f.Path), m.Symbol.Name}]
		})
		if len(f.Matches) > 0 {
			out.Files = append(out.Files, *f)
			out.Matches += len(f.Matches)
		}
	}
	out.Exhaustive = out.Exhaustive && found.Exhaustive
	return out, nil
}

// searchSymbols searches a repository, on the revision of r, for symbols that match a
// pattern and a filter.
func (n *Navigator) searchSymbols(ctx context.Context, v corpus.View, r *Request, repository string, filter syntax.Query, pattern string) (*search.Result, error) {
	in := Request{Repository: repository, Revision: r.Revision}
	query := in.buildQuery(&syntax.And{Children: []syntax.Query{&syntax.Symbol{Pattern: pattern, Case: syntax.CaseYes}, filter}})
	return n.searcher.Search(ctx, v, search.Request{Query: query, Matches: maxMethodMatches})
}

// eachSymbol calls visit for the symbols of a result.
func eachSymbol(found *search.Result, visit func(*search.FileMatch, *code.Symbol)) {
	for i := range found.Files {
		for _, c := range found.Files[i].Chunks {
			for _, s := range c.Symbols {
				if s != nil {
					visit(&found.Files[i], s)
				}
			}
		}
	}
}
