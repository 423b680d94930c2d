package navigate

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds on resolving the references of a list. The references beyond them keep the
// relation of their file.
const (
	maxReferenceTime     = 2 * time.Second
	maxReferenceSearches = 256
	maxReferenceBytes    = 64 << 20 // of files
	maxAncestors         = 32       // types that a type extends, directly or not
)

// certainty is how sure it is that an occurrence refers to the symbol at the position.
type certainty uint8

const (
	undetermined certainty = iota // a bound was reached, or the names hint at the symbol
	isSymbol
	isNamesake
	isUnclear // nothing is known; most of the other uses decide
)

// relateOccurrences gives the matches of a file that refer to another symbol of the name
// RelationNamesake: each is resolved like the position was, by the type of its receiver.
func (c *classifier) relateOccurrences(ctx context.Context, f *File, in *source) {
	for k := range f.Matches {
		m := &f.Matches[k]
		if m.Role == RoleText || m.Role == "" || m.Relation == RelationMeaning {
			continue
		}
		i, ok := in.names.TokenAt(m.Range.Start.ByteOffset)
		if !ok || in.names.Word(i) != c.request.Symbol {
			continue
		}
		certainty := isNamesake
		if !c.isOutOfScope(f, m.Range.Start.ByteOffset) {
			certainty = c.at.compareOccurrence(ctx, c.meant, in, i)
		}
		switch certainty {
		case isSymbol:
			c.surplus++
			c.users[f.Repo] = true
		case isNamesake:
			c.surplus--
			m.Relation = RelationNamesake
		case isUnclear:
			m.unclear = true
		case undetermined:
			if c.meant.isExtension() && (m.Relation == RelationRepository || m.Relation == RelationOther) &&
				!in.names.SeesExtension(c.request.Symbol, c.meant.file.names) {
				m.Relation = RelationNamesake
			}
			m.unclear = f.Repo != c.meant.file.repo && m.Relation != RelationImport && !c.at.isExhausted(ctx)
		}
	}
}

// isExtension reports whether a target is an extension of Kotlin.
func (t *target) isExtension() bool {
	return t.file.language == "Kotlin" && t.file.names.IsExtension(t.token)
}

// scope returns the function that contains the definition of a function, if the name is visible
// in that function alone; nil otherwise. A function of JavaScript may be a member of a value.
func (t *target) scope() *code.Definition {
	d := t.definition()
	if d == nil || !names.IsFunction(d.Kind) || names.IsType(d.ParentKind) || t.file.names.FunctionsHaveMembers() {
		return nil
	}
	around := t.file.names.Enclosing(max(t.token-1, 0), func(k code.SymbolKind) bool { return names.IsFunction(k) || names.IsType(k) })
	if around == nil || !names.IsFunction(around.Kind) {
		return nil
	}
	return around
}

// isOutOfScope reports whether the meaning is visible only in a function that does not contain
// the offset in a file.
func (c *classifier) isOutOfScope(f *File, offset int) bool {
	if c.scope == nil {
		return false
	}
	in := c.meant.file
	return f.Repo != in.repo || f.Path != in.path || offset < int(c.scope.Offset) || offset >= in.names.BodyEnd(c.scope)
}

// related are groups of languages whose programs call each other across repositories.
var related = [][]code.Language{
	{"Java", "Kotlin", "Scala", "Groovy", "Clojure"},
	{"C", "C++", "Objective-C", "Objective-C++", "Cuda", "Swift"},
	{"JavaScript", "TypeScript", "JSX", "TSX", "Vue", "Svelte", "HTML"},
}

// relateForeign decides about the matches of a file in another language than that of the symbol
// at the position. Languages that call each other may refer to it, and so may those of the same
// repository that are not described, such as those of templates. All of the same repository may
// refer to a symbol that is not a member.
func (c *classifier) relateForeign(f *File) {
	d := c.meant.definition()
	isMember, isHome := d != nil && names.IsType(d.ParentKind), f.Repo == c.at.home.repo
	isRelated := slices.ContainsFunc(related, func(group []code.Language) bool {
		return slices.Contains(group, f.Language) && slices.Contains(group, c.at.home.language)
	})
	mayCall := d != nil && c.scope == nil && (isRelated || isHome && !names.Described(f.Language))
	if d != nil && !isMember && c.scope == nil && isHome {
		return
	}
	for k := range f.Matches {
		if m := &f.Matches[k]; mayCall {
			m.unclear = true
		} else if m.Role != RoleText {
			m.Relation = RelationNamesake
		}
	}
}

// relateUnclear gives the matches whose receiver has an unknown type the relation of most
// of the others. In a repository that is not seen to use the symbol, they are uses of another.
func (c *classifier) relateUnclear(out *Result) {
	for i := range out.Files {
		if f := &out.Files[i]; c.surplus >= 0 && (c.meant == nil || f.Repo == c.meant.file.repo || c.users[f.Repo]) {
			continue
		}
		for k := range out.Files[i].Matches {
			if m := &out.Files[i].Matches[k]; m.unclear && !m.Precise {
				m.Relation = RelationNamesake
			}
		}
	}
}

// compareOccurrence reports whether token i of a file refers to the symbol that meant defines, or to
// one that overrides it or that it overrides.
func (r *resolver) compareOccurrence(ctx context.Context, meant *target, in *source, i int) certainty {
	if in.names.DefinitionAt(i) != nil {
		return r.compareTargets(ctx, meant, &target{file: in, token: i})
	}
	if d := meant.definition(); d != nil && names.IsFunction(d.Kind) && names.IsType(d.ParentKind) && !mayBeMethod(meant, in, i) {
		return isNamesake
	}
	found := r.resolve(ctx, in, i)
	for k := range found {
		if r.compareTargets(ctx, meant, &found[k]) == isSymbol {
			return isSymbol
		}
	}
	x := in.names.Receiver(i)
	switch {
	case r.isExhausted(ctx):
		return undetermined
	case len(found) > 0:
		return isNamesake
	case x != nil:
		if t := r.typeOf(ctx, in, x, 1); t.isKnown() {
			return r.compareOwner(ctx, meant, in, &t)
		}
	}
	return r.compareByName(meant, in, x)
}

// mayBeMethod reports whether the syntax around token i of a file allows a method that meant
// defines.
func mayBeMethod(meant *target, in *source, i int) bool {
	switch in.language {
	case "Java", "Kotlin":
		return meant.definition().ParentKind == "annotation" || in.names.MayBeMethod(i)
	case "Rust":
		return in.names.MayBeMethodOfRust(i, !meant.file.names.IsStatic(meant.token))
	case "C#":
		return !in.names.IsMemberOfValue(i)
	}
	return true
}

// compareOwner decides about a member that the type t of its receiver does not define, as
// far as it is indexed. The type may be extended from outside: by an extension function, a
// trait, or the class of the method in which it is mixed.
func (r *resolver) compareOwner(ctx context.Context, meant *target, in *source, t *typ) certainty {
	d := meant.definition()
	switch {
	case d == nil || t.module != nil, isCommon(in, d.Name):
		return isNamesake
	case meant.file.names.IsExtension(meant.token), meant.file.language == "Rust" && isTrait(d.ParentKind),
		d.Parent != "" && r.extendsType(ctx, meant, t.Name):
		return undetermined
	}
	return isNamesake
}

// compareByName decides about an occurrence whose receiver has an unknown type.
func (r *resolver) compareByName(meant *target, in *source, x *names.Expr) certainty {
	d := meant.definition()
	switch {
	case meant.binding != nil && d == nil:
		return isNamesake
	case d == nil || in == meant.file && x == nil:
		return undetermined
	}
	isMember := d.Parent != "" && names.IsType(d.ParentKind)
	switch {
	case x == nil && isMember && isCommon(in, d.Name): // of a value that a block of Kotlin refers to
		return isNamesake
	case x == nil && (!isMember || in.names.HasImplicitSelf()):
		return undetermined
	case x != nil && !isMember && d.Parent != "" && x.Name == d.Parent: // of a namespace or module
		return undetermined
	case x == nil, !isMember && (!meant.isExtension() || isCommon(in, d.Name)):
		return isNamesake
	case !isMember:
		return undetermined
	case x.Name != d.Parent && meant.file.names.IsStatic(meant.token):
		return isNamesake
	case isCommon(in, d.Name) && scoreLikeness(x.Name, d.Parent) < 2:
		return isNamesake
	case scoreLikeness(x.Name, d.Parent) > 0:
		return undetermined
	}
	return isUnclear
}

// isCommon reports whether nearly every value of the language has a method of the name, so that
// a receiver of an unknown type is seldom of the type at the position.
func isCommon(in *source, name string) bool { return slices.Contains(common[in.language], name) }

var common = map[code.Language][]string{
	"Java": {"toString", "equals", "hashCode", "getClass", "compareTo"},
	"Kotlin": {
		"toString", "equals", "hashCode", "compareTo",
		"add", "addAll", "get", "set", "put", "remove", "clear", "contains", "isEmpty", "iterator", "next", "invoke", "map", "filter", "forEach",
	},
	"C#":         {"ToString", "Equals", "GetHashCode", "GetType", "CompareTo", "GetEnumerator", "Dispose"},
	"JavaScript": {"toString", "valueOf", "hasOwnProperty"},
	"TypeScript": {"toString", "valueOf", "hasOwnProperty"},
	"Rust": {
		"clone", "to_string", "to_owned", "into", "fmt", "eq", "cmp", "hash", "as_ref", "as_mut", "borrow", "unwrap", "expect",
		"iter", "next", "map", "filter", "find", "take", "len", "is_empty", "push", "pop", "insert", "remove", "get", "contains", "extend",
		"as_str", "as_bytes", "trim", "split", "replace", "parse", "join",
	},
}

// compareTargets reports whether two definitions of the name are one symbol, or methods of
// which one overrides the other.
func (r *resolver) compareTargets(ctx context.Context, a, b *target) certainty {
	if a.file == b.file && a.token == b.token {
		return isSymbol
	}
	key := targetPair{a.file, b.file, a.token, b.token}
	if known, ok := r.compared[key]; ok {
		return known
	}
	if r.isExhausted(ctx) { // the comparison of two methods may read whole files
		return undetermined
	}
	out := isNamesake
	if x, y := a.definition(), b.definition(); x != nil && y != nil && (isOneSymbol(a, b) || r.overridesMethod(ctx, a, b) || r.overridesMethod(ctx, b, a)) {
		out = isSymbol
	} else if r.isExhausted(ctx) {
		return undetermined
	}
	r.compared[key] = out
	return out
}

type targetPair struct {
	a, b           *source
	tokenA, tokenB int
}

// isOneSymbol reports whether two definitions of a name are overloads, declarations or
// variants of one symbol, or a method and one of an anonymous class that overrides it.
func isOneSymbol(a, b *target) bool {
	x, y := a.definition(), b.definition()
	switch {
	case x.Parent != y.Parent || a.file.repo != b.file.repo || a.isAnonymous() && b.isAnonymous():
		return false
	case a.file.path == b.file.path: // perhaps on two refs
		return true
	case a.file.names.KeepsTypesInDirectory():
		return sameDirectory(a.file, &candidate{repo: b.file.repo, path: b.file.path})
	case a.isAnonymous() || b.isAnonymous():
		return true
	case a.file.language == "C" || a.file.language == "C++":
		return x.Declaration || y.Declaration
	}
	// Parts of a class in C#, and its variants for platforms in Kotlin, are in files of one
	// name: Pipeline.cs and Pipeline.Async.cs. Java has neither.
	stem := func(file string) string { name, _, _ := strings.Cut(path.Base(file), "."); return name }
	return x.Parent != "" && a.file.language != "Java" && a.file.names.HasImplicitSelf() && stem(a.file.path) == stem(b.file.path)
}

// isAnonymous reports whether a method belongs to a class without a name, whose members have
// the type that it extends as their parent.
func (t *target) isAnonymous() bool {
	class, def := t.file.names.Class(t.token)
	return def != nil && t.definition().Parent != "" && class != t.definition().Parent
}

// overridesMethod reports whether the method sub overrides, or implements, the method super: the
// type of sub extends that of super or, in Go, has all the methods of its interface.
func (r *resolver) overridesMethod(ctx context.Context, sub, super *target) bool {
	x, y := sub.definition(), super.definition()
	hasPrivate := sub.file.names.HasImplicitSelf() && (x.Visibility == "private" || y.Visibility == "private")
	if x.Parent == "" || y.Parent == "" || hasPrivate || super.isAnonymous() {
		return false
	}
	switch {
	case sub.file.names.KeepsTypesInDirectory():
		return y.ParentKind == "interface" && x.ParentKind != "interface" && r.hasMethods(ctx, sub, super)
	case sub.file.language == "Rust":
		return isTrait(y.ParentKind) && implementsTrait(sub.file.text, y.Parent, x.Parent)
	}
	return r.extendsType(ctx, sub, y.Parent)
}

// hasMethods reports whether the type of a Go method has all the methods of the interface
// of another. Of the signatures, only the numbers of parameters and results of this method
// are compared.
func (r *resolver) hasMethods(ctx context.Context, method, spec *target) bool {
	name, owner := method.definition().Parent, spec.definition().Parent
	parameters, results := method.file.names.CountParameters(method.token)
	if p, r := spec.file.names.CountParameters(spec.token); p != parameters || r != results {
		return false
	}
	n := 0
	for k := range spec.file.names.Definitions {
		d := &spec.file.names.Definitions[k]
		if d.Parent != owner || d.Name == method.definition().Name {
			continue
		}
		if n++; n > maxInterfaceMethods {
			break
		}
		has := func(c candidate) bool { return c.symbol.Parent == name && sameDirectory(method.file, &c) }
		if !slices.ContainsFunc(r.lookupMembers(ctx, method.file, name, d.Name), has) {
			return false
		}
	}
	return true
}

// isTrait reports whether a kind of definitions is that of traits, which ctags calls
// interfaces.
func isTrait(kind code.SymbolKind) bool { return kind == "trait" || kind == "interface" }

// implementsTrait reports whether a Rust file implements a trait for a type.
func implementsTrait(text []byte, trait, name string) bool {
	return regexp.MustCompile(`\bimpl\b[^{;]*\b` + regexp.QuoteMeta(trait) + `\b[^{;]*\bfor\b[^{;]*\b` + regexp.QuoteMeta(name) + `\b`).Match(text)
}

// extendsType reports whether the type of a method extends a type of the given name, directly
// or not.
func (r *resolver) extendsType(ctx context.Context, method *target, name string) bool {
	class, def := method.file.names.Class(method.token)
	if def == nil || class != method.definition().Parent {
		class, def = method.definition().Parent, nil
	}
	seen := map[target]bool{} // a type may be reached in several ways, and types may form a cycle
	next := r.definitionsOfType(ctx, typ{Type: names.Type{File: method.file.names, Name: class, At: method.token}, src: method.file, def: def}, 1)
	for n := 0; n < len(next) && len(seen) < maxAncestors; n++ {
		if seen[next[n]] {
			continue
		}
		seen[next[n]] = true
		for _, heir := range next[n].file.names.Heirs(next[n].definition()) {
			if heir.Name == name {
				return true
			}
			next = append(next, r.definitionsOfType(ctx, r.typeIn(next[n].file, heir), 2)...)
		}
	}
	return false
}
