package names

import "strings"

// A Type is a type as written in a file. The zero value is an unknown type.
type Type struct {
	File *File
	// Name is the last part of the type's name, and Qualifier the part before the last
	// dot.
	Name, Qualifier string
	// At is the token of Name.
	At int
	// Args are the type arguments. For a list and similar types, they hold the element
	// type; the last argument of a map is the value type.
	Args []Type
	// Result is the result type of a function.
	Result *Type
	// Body is the opening bracket of a type that is written out: struct { … }.
	Body int
	// Of is an expression whose type this is: typeof x.
	Of *Expr
	// Static means the type itself rather than a value of it.
	Static bool
}

// Names for types without one.
const (
	ListName     = "[]"
	MapName      = "map"
	TupleName    = "()"
	FunctionName = "func"
)

// IsKnown reports whether t has any information.
func (t *Type) IsKnown() bool { return t.Name != "" || t.Body > 0 || t.Of != nil }

// typeModifiers may precede a type and have no effect here.
var typeModifiers = wordSet("mut const readonly final dyn impl ref out in params vararg suspend volatile unsigned struct enum class union unique keyof abstract asserts inout some any where this")

// ParseType returns the type that is written at token i.
func (f *File) ParseType(i int) Type {
	t, _ := f.parseType(i, 0)
	return t
}

// parseType also returns the token after the type.
func (f *File) parseType(i, depth int) (Type, int) {
	t, next := f.parseOneType(i, depth)
	for n := 0; n < maxElements; n++ { // alternatives: the first known one counts
		bar := f.is(next, "|")
		if !bar && !f.is(next, "&") || f.d.typeFirst || f.d.typeNext || f.d.bars {
			break
		}
		other, after := f.parseOneType(next+1, depth)
		if after <= next+1 {
			break
		}
		if !t.IsKnown() || isNothing(t.Name) {
			t = other
		}
		next = after
	}
	return t, next
}

func isNothing(name string) bool {
	switch name {
	case "null", "undefined", "None", "void", "never", "unknown", "any", "object":
		return true
	}
	return false
}

func (f *File) parseOneType(i, depth int) (Type, int) {
	none := Type{}
	if depth > maxDepth {
		return none, i
	}
	for n := 0; n < maxElements && f.isModifier(i); n++ {
		if f.is(i, "@") && f.isWord(i+1) {
			i++
			if f.is(i+1, "(") {
				i = f.pairOf(i + 1)
			}
		}
		i++
	}
	switch {
	case f.is(i, "|"): // a leading bar
		return f.parseOneType(i+1, depth+1)
	case f.is(i, "["):
		return f.parseBracketType(i, depth)
	case f.is(i, "("):
		return f.parseGroupType(i, depth)
	case f.is(i, "{"):
		return f.parseSuffix(Type{File: f, Body: i}, f.pairOf(i)+1, depth)
	case f.isKind(i, kindString):
		return f.parseQuoted(i), i + 1
	case !f.isWord(i):
		return none, i
	}
	switch word := f.word(i); {
	case f.d.typeNext && word == "map" && f.is(i+1, "["):
		value, next := f.parseType(f.pairOf(i+1)+1, depth+1)
		return Type{File: f, Name: MapName, Args: []Type{{}, value}}, next
	case f.d.typeNext && word == "chan":
		at := i + 1
		for f.is(at, "<") || f.is(at, "-") || f.is(at, "<-") {
			at++
		}
		element, next := f.parseType(at, depth+1)
		return Type{File: f, Name: ListName, Args: []Type{element}}, next
	case f.d.typeNext && word == "func" && f.is(i+1, "("):
		result, next := f.parseType(f.pairOf(i+1)+1, depth+1)
		return Type{File: f, Name: FunctionName, Result: &result}, max(next, f.pairOf(i+1)+1)
	case f.d.typeNext && (word == "struct" || word == "interface") && f.is(i+1, "{"):
		return Type{File: f, Body: i + 1}, f.pairOf(i+1) + 1
	case word == "typeof":
		x, next := f.parseExpr(i+1, depth+1, false)
		return Type{File: f, Of: x}, next
	case word == "new" && f.is(i+1, "("):
		return f.parseGroupType(i+1, depth)
	}
	return f.parseNamedType(i, depth)
}

func (f *File) isModifier(i int) bool {
	switch f.word(i) {
	case "*", "&", "&&", "...", "@", "<-":
		return f.isKind(i, kindOperator)
	}
	if !f.isWord(i) {
		return false
	}
	return f.word(i)[0] == '\'' || f.tokens[i].keyword && typeModifiers[f.word(i)] && (f.isWord(i+1) || f.is(i+1, "&") || f.is(i+1, "*") || f.is(i+1, "["))
}

// parseBracketType reads []T, [4]T, [T; 4] and tuples.
func (f *File) parseBracketType(i, depth int) (Type, int) {
	closing := f.pairOf(i)
	if f.d.typeNext {
		element, next := f.parseType(closing+1, depth+1)
		return Type{File: f, Name: ListName, Args: []Type{element}}, next
	}
	element, _ := f.parseType(i+1, depth+1)
	name := TupleName
	if f.d.bars {
		name = ListName
	}
	return f.parseSuffix(Type{File: f, Name: name, Args: f.parseTypes(i+1, closing, element, depth)}, closing+1, depth)
}

// parseTypes returns the types in [i, closing), with first as the first of them.
func (f *File) parseTypes(i, closing int, first Type, depth int) []Type {
	all := []Type{first}
	for k := f.valueEnd(i, closing); f.is(k, ",") && len(all) < maxDepth; k = f.valueEnd(k+1, closing) {
		at := k + 1
		if f.d.typeNext && f.isName(at) && (f.isWord(at+1) || f.is(at+1, "*") || f.is(at+1, "[")) {
			at++ // a named result
		}
		t, _ := f.parseType(at, depth+1)
		all = append(all, t)
	}
	return all
}

// parseGroupType reads (T), (T, U) and (a: T) => R.
func (f *File) parseGroupType(i, depth int) (Type, int) {
	closing := f.pairOf(i)
	if f.is(closing+1, "=>") {
		result, next := f.parseType(closing+2, depth+1)
		return Type{File: f, Name: FunctionName, Result: &result}, next
	}
	at := i + 1
	if f.d.typeNext && f.isName(at) && (f.isWord(at+1) || f.is(at+1, "*") || f.is(at+1, "[")) {
		at++
	}
	first, _ := f.parseType(at, depth+1)
	all := f.parseTypes(i+1, closing, first, depth)
	if len(all) == 1 {
		return f.parseSuffix(first, closing+1, depth)
	}
	return Type{File: f, Name: TupleName, Args: all}, closing + 1
}

// parseQuoted reads a type in a string, as in Python.
func (f *File) parseQuoted(i int) Type {
	text := strings.Trim(f.word(i), `"'`)
	qualifier, name := "", text
	if dot := strings.LastIndexByte(text, '.'); dot >= 0 {
		qualifier, name = text[:dot], text[dot+1:]
	}
	if bracket := strings.IndexByte(name, '['); bracket >= 0 {
		name = name[:bracket]
	}
	return Type{File: f, Name: name, Qualifier: qualifier, At: i}
}

// parseNamedType reads a name, its arguments and suffixes.
func (f *File) parseNamedType(i, depth int) (Type, int) {
	t := Type{File: f}
	first := i
	for f.isMemberDot(i+1) && f.isWord(i+2) && i < first+maxElements {
		i += 2
	}
	for k := first; k < i; k += 2 {
		if t.Qualifier += f.word(k); k+2 < i {
			t.Qualifier += "."
		}
	}
	t.Name, t.At = f.word(i), i
	next := i + 1
	if f.is(next, "::") {
		next++
	}
	switch {
	case f.is(next, "<"):
		if end := f.skipAngles(next); end > next {
			for at := next + 1; at < end-1 && len(t.Args) < maxDepth; {
				arg, after := f.parseType(at, depth+1)
				t.Args = append(t.Args, arg)
				at = max(after, at+1)
				for at < end-1 && !f.is(at, ",") {
					at++
				}
				at++
			}
			next = end
		}
	case f.is(next, "[") && (f.d.indented || f.d.typeNext && !f.is(next+1, "]")) && !f.startsLine(next):
		closing := f.pairOf(next)
		arg, _ := f.parseType(next+1, depth+1)
		t.Args = f.parseTypes(next+1, closing, arg, depth)
		next = closing + 1
		switch t.Name {
		case "Optional", "Union", "Annotated", "Final", "ClassVar":
			t = t.Args[0]
		}
	}
	return f.parseSuffix(t, next, depth)
}

// parseSuffix reads the suffixes of a type: [], ?.
func (f *File) parseSuffix(t Type, i, depth int) (Type, int) {
	for f.is(i, "[") && !f.d.typeNext && !f.d.indented && depth < maxDepth && !f.startsLine(i) {
		if f.is(i+1, "]") || !f.isKind(i+1, kindString) {
			t = Type{File: f, Name: ListName, Args: []Type{t}}
		}
		i = f.pairOf(i) + 1
		depth++
	}
	if f.is(i, "?") && (f.d.typeFirst || f.d.implicitSelf) {
		i++
	}
	if f.is(i, "is") && f.isWord(i+1) && f.d.annotation == ":" && !f.d.indented {
		return Type{}, i + 2
	}
	return t, i
}

// wrappers are types whose members are those of their only argument, after await, "?" or
// a dereference.
var wrappers = wordSet("Promise Awaitable Coroutine Box Rc Arc Ref RefMut RefCell Mutex Option Result Readonly Partial Required Type type unique_ptr shared_ptr Nullable Task ValueTask")

// Unwrap returns the type inside a type that only wraps another.
func (t Type) Unwrap() Type {
	for n := 0; n < maxDepth && wrappers[t.Name] && len(t.Args) > 0; n++ {
		t = t.Args[0]
	}
	return t
}

// Element returns the element type of a list, map or other collection.
func (t Type) Element() Type {
	if len(t.Args) == 0 {
		return Type{}
	}
	if t.Name == TupleName {
		return t.Args[0]
	}
	return t.Args[len(t.Args)-1]
}
