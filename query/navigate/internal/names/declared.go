package names

// ValueType returns the declared type of a binding, or the expression that determines its
// type.
func (f *File) ValueType(b *Binding) Source { return f.source(b.value) }

// A Source is the origin of a type: it is written out, or it is the type of an
// expression, of an element of the expression, or of one of its results.
type Source struct {
	Type    Type
	Expr    *Expr
	Element bool
	Index   int
	// Self means that the type is that of the method's object.
	Self bool
}

func (f *File) source(v value) Source {
	s := Source{Element: v.element, Index: v.index}
	switch {
	case v.index == selfIndex:
		return Source{Self: true}
	case v.typeAt > 0:
		s.Index = 0
		if s.Type = f.ParseType(v.typeAt); v.index == variadicIndex {
			s.Type = Type{File: f, Name: ListName, Args: []Type{s.Type}}
		}
		s.Element = false
	case v.exprAt > 0:
		s.Expr = f.ParseExpr(v.exprAt)
	}
	return s
}

// DeclaredSource returns the type of the definition whose name is token i. For a
// function, it returns the type of the result.
func (f *File) DeclaredSource(i int) Source {
	switch {
	case f.d == plain:
		return Source{}
	case f.d.typeFirst:
		if t := f.typeBefore(i); t >= 0 {
			if f.is(t, "var") || f.is(t, "auto") {
				return f.source(value{exprAt: i + 2})
			}
			return f.source(value{typeAt: t})
		}
		return Source{}
	case f.d.typeNext:
		return f.sourceInGo(i)
	}
	at := i + 1
	if f.is(at, "?") || f.is(at, "!") {
		at++
	}
	at = f.skipAngles(at)
	if !f.is(at, "(") {
		v := f.valueAfter(at)
		return f.source(v)
	}
	at = f.pairOf(at) + 1
	if f.is(at, f.d.result) {
		return f.source(value{typeAt: at + 1})
	}
	return f.returnedSource(at)
}

// sourceInGo reads the declaration after a name in Go.
func (f *File) sourceInGo(i int) Source {
	at := i + 1
	if f.is(at, "[") && f.is(f.pairOf(at)+1, "(") {
		at = f.pairOf(at) + 1
	}
	if f.is(at, "(") && (f.is(i-1, "func") || f.is(i-1, ")") || f.startsLine(i)) {
		if at = f.pairOf(at) + 1; f.startsLine(at) || f.is(at, "{") {
			return Source{}
		}
		return f.source(value{typeAt: at})
	}
	index := 0
	for f.is(at, ",") && f.isName(at+1) {
		at += 2
	}
	for k := i; f.is(k-1, ",") && f.isName(k-2); k -= 2 {
		index++
	}
	switch {
	case f.is(at, "=") || f.is(at, ":="):
		return f.source(value{exprAt: at + 1, index: index})
	case f.startsLine(at) || f.is(at, ";") || f.is(at, "}"):
		return Source{}
	}
	return f.source(value{typeAt: at})
}

// returnedSource finds the first return in the body after token i whose value has a known
// type. It serves functions that do not declare a result.
func (f *File) returnedSource(i int) Source {
	if i >= len(f.tokens) {
		return Source{}
	}
	end := f.pairOf(i)
	if f.d.indented {
		end = f.blockEnd(i)
	}
	if (f.is(i, "=>") || f.is(i, "=") && f.d.implicitSelf) && !f.is(i+1, "{") {
		return f.source(value{exprAt: i + 1})
	}
	for k := i; k < end && k < i+maxBody; k++ {
		if f.is(k, "return") && !f.startsLine(k+1) {
			if x := f.ParseExpr(k + 1); x.Kind != ExprUnknown && x.Kind != ExprLiteral {
				return f.source(value{exprAt: k + 1})
			}
		}
	}
	return Source{}
}

// maxBody bounds the tokens of a body that are searched for a return.
const maxBody = 2000

// ArrowSource returns the result type of a function value: name = (…) => …
func (f *File) ArrowSource(i int) (Source, bool) {
	if f.d.lambda != "=>" || f.d.typeFirst {
		return Source{}, false
	}
	at := i + 1
	if f.is(at, ":") {
		at = f.typeEnd(at+1, len(f.tokens))
	}
	if !f.is(at, "=") {
		return Source{}, false
	}
	if at++; f.is(at, "async") {
		at++
	}
	at = f.skipAngles(at)
	if f.is(at, "function") {
		for at++; at < len(f.tokens) && !f.is(at, "("); at++ {
			if at > i+8 {
				return Source{}, false
			}
		}
	}
	if !f.is(at, "(") {
		return Source{}, false
	}
	at = f.pairOf(at) + 1
	if f.is(at, ":") {
		return f.source(value{typeAt: at + 1}), true
	}
	if f.is(at, "=>") && f.is(at+1, "{") {
		return f.returnedSource(at + 1), true
	}
	return f.returnedSource(at), true
}
