package outline

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

// functionDeclarator is a function declarator found among the tokens of a declaration.
type functionDeclarator struct {
	name  token
	index int // of the name's last token
	scope span
}

// findFunction finds the declarator of a function: a name before a parenthesized group.
// Macros with arguments may precede and follow it.
func (d cDialect) findFunction(p *declParser, decl []token) (functionDeclarator, bool) {
	best := -1
	for i := 1; i < len(decl); i++ {
		if decl[i].isPunct('=') && (best >= 0 || !d.cpp || indexWord(decl[:i], wOperator) < 0) {
			break
		}
		if best >= 0 && decl[i].isPunct(':') && !isDoubleColon(decl, i) {
			break // member initializers
		}
		if !decl[i].isGroup('(') {
			continue
		}
		if best < 0 && i+1 < len(decl) && decl[i+1].isGroup('(') && p.isPointer(decl[i]) {
			break
		}
		if !d.isCallable(decl, i) {
			continue
		}
		if best < 0 || d.isBetterGroup(p, decl, best, i) {
			best = i
		}
	}
	if best < 0 {
		return functionDeclarator{}, false
	}
	return d.functionAt(p, decl, best), true
}

// wrappedFunction returns the name of a function whose declarator is in parentheses, as in
// "int (f)(int a)" and "void (*signal(int n))(int)". If found is set, another name precedes a
// group, and only the second form counts.
func (d cDialect) wrappedFunction(p *declParser, decl []token, found bool) (token, bool) {
	for i := 1; i+1 < len(decl); i++ {
		if !decl[i].isGroup('(') || !decl[i+1].isGroup('(') {
			continue
		}
		if name, ok := p.onlyName(decl[i]); ok {
			return name, !found
		}
		name, ok := p.pointerName(decl[i])
		return name, ok && !p.isPointer(decl[i])
	}
	return token{}, false
}

// isPointer reports whether a group before the parameters is the declarator of a pointer to
// a function, as in "time_t (*now)(void)".
func (p *declParser) isPointer(group token) bool {
	name, ok := p.pointerName(group)
	return ok && bytes.IndexByte(p.src[name.end:group.end-1], '(') < 0
}

// isCallable reports whether the token before the group at index i can be the name of a
// function.
func (d cDialect) isCallable(decl []token, i int) bool {
	before := decl[i-1]
	switch {
	case before.isName():
		return true
	case before.isGroup('<'):
		return i >= 2 && decl[i-2].isName()
	}
	return d.cpp && indexWord(decl[max(0, i-6):i], wOperator) >= 0
}

// isBetterGroup reports whether the group at index i is more likely to be the parameter
// list than the preceding group at index best, which may belong to a macro.
func (d cDialect) isBetterGroup(p *declParser, decl []token, best, i int) bool {
	if i-1 <= best {
		return false // operator()(…)
	}
	old, name := p.tokenText(decl[best-1]), p.tokenText(decl[i-1])
	between := decl[best+1 : i-1]
	typed := false
	for _, t := range between {
		switch {
		case t.isPunct('>'), t.isPunct('='):
			return false // a trailing return type, a value
		case t.isPunct('*') || t.word != wNone && t.word != wConst && t.word != wVolatile:
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

// functionAt returns the function whose parameters are the group at index group.
func (d cDialect) functionAt(p *declParser, decl []token, group int) functionDeclarator {
	i := group - 1
	if op := indexWord(decl[:group], wOperator); d.cpp && op >= 0 && group-op <= 6 {
		name := decl[op]
		name.end = decl[group-1].end
		if group == op+1 { // operator()
			name.end = decl[group].end
		}
		return functionDeclarator{name: name, index: op, scope: lastQualifier(decl, op)}
	}
	if decl[i].isGroup('<') {
		i--
	}
	name := decl[i]
	if i > 0 && decl[i-1].isPunct('~') && decl[i-1].end == name.start {
		i--
		name.start = decl[i].start
	}
	return functionDeclarator{name: name, index: group - 1, scope: lastQualifier(decl, i)}
}

// lastQualifier returns the last name of the qualifier (Foo::) before index i.
func lastQualifier(decl []token, i int) span {
	if i < 3 || !decl[i-1].isPunct(':') || !decl[i-2].isPunct(':') {
		return span{}
	}
	i -= 3
	if decl[i].isGroup('<') && i > 0 {
		i--
	}
	if decl[i].isName() {
		return decl[i].toSpan()
	}
	return span{}
}

// inMemberInitializers reports whether a "{" after decl begins a member initializer of
// the constructor fn.
func (d cDialect) inMemberInitializers(decl []token, fn functionDeclarator) bool {
	last := decl[len(decl)-1]
	if !d.cpp || !last.isName() && !last.isGroup('<') {
		return false
	}
	rest := decl[fn.index+1:]
	for i, t := range rest {
		if t.isPunct(':') && !isDoubleColon(rest, i) {
			return true
		}
	}
	return false
}

var systemCall = []byte("SYSCALL_DEFINE")

// defineFunction records fn and returns its index.
func (d cDialect) defineFunction(p *declParser, fn functionDeclarator) int32 {
	in := *p.topScope()
	kind := code.SymbolKind("function")
	if !fn.scope.isEmpty() {
		in.name, in.kind, kind = fn.scope, "class", "method"
	} else if in.form == formType {
		kind = "method"
	}
	text := p.tokenText(fn.name)
	if fn.index == 0 && upperCase(text) || bytes.Contains(text, systemCall) {
		// The function is defined by a macro: SYSCALL_DEFINE3(read, …), TEST(Suite,
		// Case).
		if !bytes.Contains(text, systemCall) {
			return -1
		}
		name, ok := p.firstArgument(fn.name)
		if !ok {
			return -1
		}
		fn.name = name
	}
	return p.rec.add(fn.name.toSpan(), kind, in)
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
