package outline

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

// function is a function declarator found among the tokens of a declaration.
type function struct {
	name  token
	index int // of the name's last token
	scope span
}

// function finds the declarator of a function: a name before a parenthesised
// group. Macros with arguments may stand before and after it.
func (d cDialect) function(p *declParser, decl []token) (function, bool) {
	best := -1
	for i := 1; i < len(decl); i++ {
		if decl[i].is('=') && (best >= 0 || !d.cpp || find(decl[:i], wOperator) < 0) {
			break
		}
		if best >= 0 && decl[i].is(':') && !doubled(decl, i) {
			break // member initialisers
		}
		if !decl[i].isGroup('(') || !d.callable(decl, i) {
			continue
		}
		if best < 0 || d.better(p, decl, best, i) {
			best = i
		}
	}
	if best < 0 {
		return function{}, false
	}
	return d.named(p, decl, best), true
}

// callable reports whether the token before the group at index i can be the
// name of a function.
func (d cDialect) callable(decl []token, i int) bool {
	before := decl[i-1]
	switch {
	case before.isName():
		return true
	case before.isGroup('<'):
		return i >= 2 && decl[i-2].isName()
	}
	return d.cpp && find(decl[max(0, i-6):i], wOperator) >= 0
}

// better reports whether the group at index i is more likely the parameter list
// than the one at index best, which comes before it: where that is a macro.
func (d cDialect) better(p *declParser, decl []token, best, i int) bool {
	if i-1 <= best {
		return false // operator()(…)
	}
	old, name := p.text(decl[best-1]), p.text(decl[i-1])
	between := decl[best+1 : i-1]
	typed := false
	for _, t := range between {
		switch {
		case t.is('>'), t.is('='):
			return false // a trailing return type, a value
		case t.is('*') || t.word != wNone && t.word != wConst && t.word != wVolatile:
			typed = true
		case t.isName() && !p.attributeName(t):
			typed = true
		}
	}
	reserved := bytes.HasPrefix(old, []byte("__"))
	switch {
	case typed:
		return best == 1 || reserved || upperCase(old)
	case upperCase(name) || bytes.HasPrefix(name, []byte("__")):
		return false
	}
	return reserved || upperCase(old)
}

// upperCase reports whether b is spelled like a macro.
func upperCase(b []byte) bool {
	for _, c := range b {
		if c >= 'a' && c <= 'z' {
			return false
		}
	}
	return len(b) > 1
}

// named returns the function whose parameters are the group at index group.
func (d cDialect) named(p *declParser, decl []token, group int) function {
	i := group - 1
	if op := find(decl[:group], wOperator); d.cpp && op >= 0 && group-op <= 6 {
		name := decl[op]
		name.end = decl[group-1].end
		if group == op+1 { // operator()
			name.end = decl[group].end
		}
		return function{name: name, index: op, scope: qualifier(decl, op)}
	}
	if decl[i].isGroup('<') {
		i--
	}
	name := decl[i]
	if i > 0 && decl[i-1].is('~') && decl[i-1].end == name.start {
		i--
		name.start = decl[i].start
	}
	return function{name: name, index: group - 1, scope: qualifier(decl, i)}
}

// qualifier returns the last name of the qualifier (Foo::) before index i.
func qualifier(decl []token, i int) span {
	if i < 3 || !decl[i-1].is(':') || !decl[i-2].is(':') {
		return span{}
	}
	i -= 3
	if decl[i].isGroup('<') && i > 0 {
		i--
	}
	if decl[i].isName() {
		return decl[i].span()
	}
	return span{}
}

// inMemberInitializers reports whether a "{" behind decl is a braced member
// initialiser of the constructor fn.
func (d cDialect) inMemberInitializers(decl []token, fn function) bool {
	last := decl[len(decl)-1]
	if !d.cpp || !last.isName() && !last.isGroup('<') {
		return false
	}
	rest := decl[fn.index+1:]
	for i, t := range rest {
		if t.is(':') && !doubled(rest, i) {
			return true
		}
	}
	return false
}

var systemCall = []byte("SYSCALL_DEFINE")

// defineFunction records fn and returns its index.
func (d cDialect) defineFunction(p *declParser, fn function) int32 {
	in := *p.top()
	kind := code.SymbolKind("function")
	if !fn.scope.empty() {
		in.name, in.kind, kind = fn.scope, "class", "method"
	} else if in.form == formType {
		kind = "method"
	}
	text := p.text(fn.name)
	if fn.index == 0 && upperCase(text) || bytes.Contains(text, systemCall) {
		// A macro makes the function: SYSCALL_DEFINE3(read, …), TEST(Suite, Case).
		if !bytes.Contains(text, systemCall) {
			return -1
		}
		name, ok := p.firstArgument(fn.name)
		if !ok {
			return -1
		}
		fn.name = name
	}
	return p.rec.add(fn.name.span(), kind, in)
}

// firstArgument returns the identifier that follows "name(".
func (p *declParser) firstArgument(name token) (token, bool) {
	i := int(name.end)
	for i < len(p.src) && (p.src[i] == '(' || p.src[i] == ' ') {
		i++
	}
	start := i
	for i < len(p.src) && p.lex.class[p.src[i]] >= classWord {
		i++
	}
	return token{shape: shape{kind: tokWord}, start: int32(start), end: int32(i)}, i > start
}
