package names

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/quarrysearch/quarry/schemas/code"
)

// HasImplicitSelf reports whether a class refers to its members without naming the
// object.
func (f *File) HasImplicitSelf() bool { return f.d.implicitSelf }

// KeepsTypesInDirectory reports whether all parts of a type are in one directory.
func (f *File) KeepsTypesInDirectory() bool { return f.d.typeNext }

// FunctionsHaveMembers reports whether a function may have members, as in JavaScript.
func (f *File) FunctionsHaveMembers() bool { return f.d.lambda == "=>" && !f.d.typeFirst }

// Classes returns the types around token i, innermost first.
func (f *File) Classes(i int) (out []*code.Definition) {
	at := int(f.tokens[i].start)
	for k := len(f.Definitions) - 1; k >= 0 && len(out) < maxDepth; k-- {
		if d := &f.Definitions[k]; int(d.Offset) < at && IsType(d.Kind) && f.bodyEnd(d) > at {
			out = append(out, d)
		}
	}
	return out
}

// EnclosingNames returns the names of the definitions whose bodies contain token i.
func (f *File) EnclosingNames(i int) map[string]bool {
	at, out := int(f.tokens[i].start), map[string]bool{}
	for k := range f.Definitions {
		d := &f.Definitions[k]
		if int(d.Offset) > at {
			break
		}
		if f.bodyEnd(d) > at {
			out[d.Name] = true
		}
	}
	return out
}

// IsCalled reports whether the name at token i is followed by arguments.
func (f *File) IsCalled(i int) bool { return f.is(f.skipAngles(i+1), "(") }

// MayBeMethod reports whether the name at token i of a file in Java or Kotlin may be that of a
// method: it has arguments or a block, follows "::", is imported, or is between two operands, as
// that of an infix function.
func (f *File) MayBeMethod(i int) bool {
	next := f.skipAngles(i + 1)
	if f.is(next, "(") || f.is(next, "{") || f.is(i-1, "::") || f.ImportAt(i) != nil {
		return true
	}
	isOperand := func(k int) bool {
		return f.isName(k) || f.is(k, "this") || f.isKind(k, kindNumber) || f.isKind(k, kindString)
	}
	return (isOperand(i-1) || f.is(i-1, ")") || f.is(i-1, "]")) && isOperand(i+1) && !f.startsLine(i) && !f.startsLine(i+1)
}

// MayBeMethodOfRust reports whether the name at token i of a file in Rust may be that of a
// function of a type: it follows the path of a type or, in a call of a function with self, a
// value. A path that ends in lower case leads to a module or to a type of the language, as in
// tokio::time::sleep.
func (f *File) MayBeMethodOfRust(i int, hasSelf bool) bool {
	if f.is(i-1, "::") && f.isWord(i-2) && f.word(i-2) != "" {
		return unicode.IsUpper([]rune(f.word(i - 2))[0])
	}
	return f.is(i-1, "::") || hasSelf && f.is(i-1, ".") && (f.is(i+1, "(") || f.is(i+1, "::"))
}

// IsMemberOfValue reports whether the name at token i has a receiver and a member, so that it is
// the name of a value: the a.b in a.b.c.
func (f *File) IsMemberOfValue(i int) bool { return f.isMemberDot(i-1) && f.isMemberDot(i+1) }

// IsStatic reports whether the function whose name is token i belongs to its type rather than to
// a value of it, so that the name of the type precedes each use: static in Java and C#, without
// self in Rust.
func (f *File) IsStatic(i int) bool {
	switch {
	case f.d.bars:
		open := f.skipAngles(i + 1)
		for k := open + 1; f.is(open, "(") && k < min(f.pairOf(open), open+maxSelf); k++ {
			if f.is(k, "self") {
				return false
			}
			if f.is(k, ",") || f.is(k, ":") {
				break
			}
		}
		return f.is(open, "(")
	case !f.d.typeFirst || f.d.arrowMember || f.IsExtension(i):
		return false
	}
	for k := i - 1; k >= 0 && k > i-maxElements && !f.is(k, ";") && !f.is(k, "{") && !f.is(k, "}"); k-- {
		if f.is(k, "static") {
			return true
		}
	}
	return false
}

// maxSelf bounds the tokens before self in the parameters of a Rust function: &'a mut self.
const maxSelf = 6

// ExtendedType returns the type that the function around token i extends, which the function
// refers to without naming the object: fun T.f() in Kotlin.
func (f *File) ExtendedType(i int) Type {
	if f.d.languages != kotlin.languages {
		return Type{}
	}
	d := f.Enclosing(i, IsFunction)
	if last := f.lastFunction(i); last != nil && last.BodyEnd == 0 && f.InLine(i, int(last.Offset)) { // fun T.f() = …
		d = last
	}
	if d == nil || !f.isMemberDot(f.tokenOf(d)-1) {
		return Type{}
	}
	k := f.tokenOf(d) - 2
	if f.is(k, "?") {
		k--
	}
	if f.is(k, ">") {
		k = f.anglesBefore(k) - 1
	}
	if !f.isWord(k) {
		return Type{}
	}
	return Type{File: f, Name: f.word(k), At: k}
}

// SeesExtension reports whether an extension of Kotlin that another file defines is visible here:
// by its name or with all of its package in an import, or in its package. Directories need not be
// named like packages.
func (f *File) SeesExtension(name string, of *File) bool {
	home := of.packageName()
	return f.packageName() == home || slices.ContainsFunc(f.Imports, func(i Import) bool {
		return i.All && i.Module == home || i.Member == name && strings.HasPrefix(i.Module, home)
	})
}

// packageName returns the name of the package that a file of Kotlin declares first, or "".
func (f *File) packageName() string {
	if len(f.Definitions) == 0 || f.Definitions[0].Kind != "package" {
		return ""
	}
	return f.Definitions[0].Name
}

// lastFunction returns the last function defined before token i, or nil.
func (f *File) lastFunction(i int) *code.Definition {
	at := uint32(f.tokens[i].start)
	k := sort.Search(len(f.Definitions), func(k int) bool { return f.Definitions[k].Offset >= at })
	for k--; k >= 0; k-- {
		if IsFunction(f.Definitions[k].Kind) {
			return &f.Definitions[k]
		}
	}
	return nil
}

// OtherCrate returns the crate that a type in Rust belongs to by its path, or by an import, if it
// is not this crate, so that a type of the name here is another one; empty otherwise. The crates
// of a repository are mostly named alike, and one exports the types of another.
func (f *File) OtherCrate(t Type, repository string) string {
	if !f.d.bars {
		return ""
	}
	first, _, _ := strings.Cut(t.Qualifier, ".")
	if one := f.ImportOf(cmp.Or(first, t.Name)); one != nil {
		first, _, _ = strings.Cut(one.Module+"::"+one.Member, "::")
	}
	switch first {
	case "", "crate", "self", "super", "Self":
		return ""
	}
	crate, _, _ := strings.Cut(first, "_")
	if strings.Contains(path.Base(repository), crate) || slices.ContainsFunc(f.Definitions, func(d code.Definition) bool { return d.Name == first && (d.Kind == "module" || IsType(d.Kind)) }) {
		return ""
	}
	return first
}

// Arguments returns the number of arguments of the call of the name at token i, or -1 if
// it is not called.
func (f *File) Arguments(i int) int {
	open := f.skipAngles(i + 1)
	if !f.is(open, "(") {
		return -1
	}
	return f.countParts(open)
}

// CountParameters returns the numbers of parameters and results of the Go function whose name is
// token i.
func (f *File) CountParameters(i int) (parameters, results int) {
	if !f.is(i+1, "(") {
		return -1, -1
	}
	next := f.pairOf(i+1) + 1
	switch {
	case f.startsLine(next) || f.is(next, "{") || f.is(next, "}") || f.is(next, ";"):
	case f.is(next, "("):
		results = f.countParts(next)
	default:
		results = 1
	}
	return f.countParts(i + 1), results
}

// EmbeddedType returns the type whose name is token i in the body of a Go type.
func (f *File) EmbeddedType(i int) Type {
	if !f.d.embeds {
		return Type{}
	}
	if f.isMemberDot(i-1) && f.isWord(i-2) {
		i -= 2
	}
	return f.ParseType(i)
}

// TakesArguments reports whether the definition whose name is token i takes n arguments;
// -1 means no argument list.
func (f *File) TakesArguments(i, n int) bool {
	have := f.Arguments(i)
	return have == n || have >= 0 && n >= have-1 && f.tokenRange(f.skipAngles(i+1), f.pairOf(f.skipAngles(i+1)), "...")
}

// countParts counts the comma-separated parts in the brackets that begin at token open.
func (f *File) countParts(open int) int {
	n, closing := 0, f.pairOf(open)
	if closing <= open+1 {
		return 0
	}
	for k := open + 1; k < closing; k++ {
		if next := f.skipAngles(k); next > k {
			k = next - 1
			continue
		}
		if f.is(k, ",") {
			n++
		}
		if f.is(k, "(") || f.is(k, "[") || f.is(k, "{") {
			k = f.pairOf(k)
		}
	}
	return n + 1
}

// IsExtension reports whether the function whose name is token i extends a type from
// outside: static f(this T x) in C#, fun T.f() in Kotlin.
func (f *File) IsExtension(i int) bool {
	open := f.skipAngles(i + 1)
	return f.is(open, "(") && (f.d.typeFirst && f.is(open+1, "this") || f.isMemberDot(i-1))
}

// HasOverloads reports whether functions of the same name may differ by their parameters.
func (f *File) HasOverloads() bool { return f.d.typeFirst }

// ImportAt returns the import whose name or member is token i, or nil if there is none.
func (f *File) ImportAt(i int) *Import {
	for k := range f.Imports {
		if one := &f.Imports[k]; one.At > 0 && (one.At == i || one.At == i+2 && f.is(i+1, "as") && one.Member == f.word(i)) {
			return one
		}
	}
	return nil
}

// MayBeModule reports whether the name that an import takes may itself be a module.
func (f *File) MayBeModule(one *Import) bool {
	return f.d.indented || f.d.bars || one.Member == ""
}

// IsExternal reports whether a module is named by anything but a relative path.
func IsExternal(module string) bool {
	return module != "" && !strings.HasPrefix(module, ".")
}

// ModuleOf returns the import that the whole expression, such as a.b.c, refers to, or nil
// if there is none.
func (f *File) ModuleOf(x *Expr) *Import {
	if !f.d.indented && !f.d.typeFirst {
		return nil
	}
	var parts []string
	for y := x; ; y = y.X {
		if y == nil || y.Kind != ExprMember && y.Kind != ExprName || len(parts) > maxDepth {
			return nil
		}
		parts = append([]string{y.Name}, parts...)
		if y.Kind == ExprName {
			break
		}
	}
	whole := strings.Join(parts, ".")
	for k := range f.Imports {
		if one := &f.Imports[k]; one.Member == "" && one.Module == whole {
			return one
		}
	}
	if one := f.ImportOf(parts[0]); one != nil && f.d.indented && one.Member == "" && len(parts) > 1 {
		return nil
	}
	return nil
}

// LiteralOfKey returns the type of the literal whose key is token i: T{key: …}.
func (f *File) LiteralOfKey(i int) (Type, bool) {
	open := int(f.tokens[i].around)
	if f.d.annotation == ":" && f.d.lambda == "=>" && open > 0 && f.is(open, "{") && f.is(i+1, ":") {
		return f.annotatedLiteral(open, 0)
	}
	if !f.d.compositeLiterals || open < 0 || !f.is(open, "{") || !f.is(i+1, ":") && !(f.d.bars && (f.is(i+1, ",") || f.is(i+1, "}"))) {
		return Type{}, false
	}
	if !f.is(i-1, "{") && !f.is(i-1, ",") {
		return Type{}, false
	}
	return f.literalType(open, 0)
}

// annotatedLiteral returns the declared type of the object literal at token open: const
// x: T = { … }. For a literal inside another one, it returns the element type.
func (f *File) annotatedLiteral(open, depth int) (Type, bool) {
	switch {
	case depth > maxDepth:
	case f.is(open-1, ":"):
		around := int(f.tokens[open].around)
		if around <= 0 || !f.is(around, "{") {
			break
		}
		outer, ok := f.annotatedLiteral(around, depth+1)
		if outer.Name != "Record" {
			break
		}
		element := outer.Element()
		return element, ok && element.IsKnown()
	case f.is(open-1, "="):
		for k := open - 2; k > 0 && k > open-maxAngles; k-- {
			if f.is(k, ":") && f.tokens[k].around == f.tokens[open].around {
				if t, next := f.parseType(k+1, 0); next == open-1 {
					return t, true
				}
				break
			}
			if f.is(k, "}") || f.is(k, "]") || f.is(k, ")") {
				k = f.pairOf(k)
			}
		}
	}
	return Type{}, false
}

func (f *File) literalType(open, depth int) (Type, bool) {
	if depth > maxDepth {
		return Type{}, false
	}
	k := open - 1
	switch {
	case f.is(k, "{") || f.is(k, ",") || f.is(k, ":"): // the element type
		around := int(f.tokens[open].around)
		if around < 0 || !f.is(around, "{") {
			return Type{}, false
		}
		outer, ok := f.literalType(around, depth+1)
		element := outer.Element()
		return element, ok && element.IsKnown()
	case f.is(k, "]") && f.d.typeNext: // type arguments
		k = f.pairOf(k) - 1
	case f.is(k, ">"):
		k = f.anglesBefore(k) - 1
	}
	if f.is(k, "}") && f.is(f.pairOf(k)-1, "struct") {
		return f.ParseType(f.pairOf(k) - 1), true
	}
	if !f.isWord(k) {
		return Type{}, false
	}
	for f.isMemberDot(k-1) && f.isWord(k-2) {
		k -= 2
	}
	for f.is(k-1, "*") || f.is(k-1, "&") {
		k--
	}
	for f.is(k-1, "]") && f.d.typeNext { // []T, map[K]T
		k = f.pairOf(k - 1)
		if f.is(k-1, "map") {
			k--
		}
		for f.is(k-1, "*") {
			k--
		}
	}
	return f.ParseType(k), true
}

// CalleeOfKey returns the function called with the argument whose name is token i:
// f(name=…). It returns nil if there is none.
func (f *File) CalleeOfKey(i int) *Expr {
	open := int(f.tokens[i].around)
	if !f.d.keywordArguments || open <= 0 || !f.is(open, "(") || !f.is(i+1, "=") || !f.is(i-1, "(") && !f.is(i-1, ",") || !f.isWord(open-1) {
		return nil
	}
	if f.isFunctionWord(open - 2) {
		return nil
	}
	start := open - 1
	if f.isMemberDot(open - 2) {
		start = f.chainStart(open - 2)
	}
	x, next := f.parseChain(start, open, 0)
	if next != open {
		return nil
	}
	return x
}

// Parameter returns the token of the parameter of that name of the function whose name is
// token i, or -1 if there is none.
func (f *File) Parameter(i int, name string) int {
	open := i + 1
	if !f.is(open, "(") {
		return -1
	}
	for k := open + 1; k < f.pairOf(open); k++ {
		if int(f.tokens[k].around) == open && f.is(k, name) && (f.is(k-1, ",") || f.is(k-1, "(") || f.is(k-1, "*")) {
			return k
		}
	}
	return -1
}

// ImportsFile reports whether f imports a module that may contain the given file.
func (f *File) ImportsFile(repository, file string) bool {
	for k := range f.Imports {
		for n, p := range f.Places(&f.Imports[k]) {
			if n > 2 || p.Below {
				break
			}
			if p.Matches(repository, file) && (p.Directory || strings.Contains(p.Path, "/") || path.Dir(file) == path.Dir(f.Path)) {
				return true
			}
		}
	}
	return false
}
