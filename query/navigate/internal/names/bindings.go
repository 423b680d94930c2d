package names

import "slices"

// A Binding is a local name: a variable or a parameter.
type Binding struct {
	Name string
	// At is the token of the name; the name is visible from token From to token To.
	At, From, To int
	// Parameter is true for a parameter of a function.
	Parameter bool
	value     value
}

// A value is where the type of a name can be read. The fields are token numbers; 0 means
// none, because no file begins with a type or expression.
type value struct {
	typeAt, exprAt int
	// element means that the value is an element of the expression; index selects one of
	// several results.
	element bool
	index   int
}

// Binding returns the binding that the name at token i refers to, or nil if there is
// none.
func (f *File) Binding(name string, i int) *Binding {
	var best *Binding
	all := f.bindings[name]
	for k := range all {
		b := &all[k]
		if b.At == i && !f.d.typeNext {
			return b
		}
		if b.At == i {
			best = b
			break
		}
		if i < b.From || i >= b.To {
			continue
		}
		if f.d.functionScope && b.At > i && best != nil {
			continue
		}
		// The innermost scope wins; within one scope, the last binding before the use.
		if best == nil || b.To < best.To || b.To == best.To && (b.At < i && !f.d.functionScope || best.At > i) {
			best = b
		}
	}
	if best != nil && (f.d.functionScope || f.d.typeNext) {
		for k := range all { // in one scope, the first assignment
			if b := &all[k]; b.To == best.To && b.At < best.At {
				best = b
			}
		}
	}
	return best
}

// bind adds a name that is visible up to token to.
func (f *File) bind(at, from, to int, v value, parameter bool) {
	if f.bound >= maxBindings || !f.isWord(at) || f.word(at) == "_" || from >= to {
		return
	}
	f.bound++
	name := f.word(at)
	f.bindings[name] = append(f.bindings[name], Binding{name, at, from, to, parameter, v})
}

// readBindings finds the forms that bind names.
func (f *File) readBindings() {
	if f.d == plain {
		return
	}
	for i := range f.tokens {
		t := &f.tokens[i]
		switch {
		case t.kind == kindWord:
			f.readWord(i)
		case t.kind != kindOperator:
		case f.d.typeParameters && f.is(i, "<"):
			f.readTypeParameters(i)
		case f.d.annotation == ":" && f.d.lambda == "=>" && f.is(i, "[") && f.isWord(i+1) && f.is(i+2, "in"): // of a mapped type
			f.bind(i+1, i, f.scopeEnd(i), value{}, true)
		case f.d.lambda != "" && f.is(i, f.d.lambda):
			f.readLambda(i)
		case f.d.assigns != "" && f.is(i, f.d.assigns):
			f.readAssignment(i)
		case f.d.indented && f.is(i, ":="):
			f.bind(i-1, f.scopeStart(i), f.scopeEnd(i), value{exprAt: i + 1}, false)
		case f.d.bars && f.is(i, "|") && f.beginsClosure(i):
			f.readClosure(i)
		case f.d.bars && f.is(i, "=>"):
			f.readArm(i)
		case f.d.languages == kotlin.languages && f.is(i, "->"):
			f.readBraceLambda(i)
		}
	}
	if f.d.typeFirst {
		return
	}
	for k := range f.Definitions {
		if d := &f.Definitions[k]; IsFunction(d.Kind) && !f.isFunctionWord(f.tokenOf(d)-1) {
			if i := f.tokenOf(d); i >= 0 { // a method without a keyword
				if open := f.skipAngles(i + 1); f.is(open, "(") {
					f.readParameters(open, f.functionEnd(open))
				}
			}
		}
	}
}

func (f *File) isFunctionWord(i int) bool {
	return f.isWord(i) && (f.d.sets.functions[f.word(i)] || f.is(i, "*") && f.isFunctionWord(i-1))
}

// readWord reads the construct that a word may begin: a declaration, a function, a
// variable after a type.
func (f *File) readWord(i int) {
	if f.isMemberDot(i - 1) {
		return
	}
	word := f.word(i)
	switch {
	case f.d.sets.declares[word] && f.tokens[i].keyword || f.d.indented && word == "as":
		f.readDeclaration(i)
	case f.d.sets.functions[word] && f.tokens[i].keyword:
		f.readFunction(i)
	case f.d.typeFirst && (word == "var" && f.is(i+1, "(") || word == "auto" && !f.isWord(i+1)):
		f.readTuple(i)
	case f.d.typeFirst && !f.tokens[i].keyword:
		f.readTyped(i)
	case word == "infer" && f.d.typeParameters && f.isWord(i+1):
		f.bind(i+1, i, f.declarationEnd(i), value{}, true)
	}
}

// readDeclaration reads names or a pattern after a word such as let.
func (f *File) readDeclaration(i int) {
	word := f.word(i)
	at := i + 1
	if f.is(at, "mut") || f.is(at, "ref") {
		at++
	}
	from, to := f.scopeStart(i), f.scopeEnd(i)
	if !f.d.functionScope {
		from = at
	}
	switch {
	case word == "catch" && f.is(at, "("):
		f.bindPattern(at+1, f.pairOf(at), from, to, value{})
		return
	case f.d.typeNext && f.is(at, "("): // var ( … )
		for k := at + 1; k < f.pairOf(at); k++ {
			if f.startsLine(k) && f.isName(k) && int(f.tokens[k].around) == at {
				f.readNames(k, from, to)
			}
		}
		return
	case f.d.typeNext:
		f.readNames(at, from, to)
		return
	case word == "for":
		if f.d.implicitSelf && f.is(at, "(") { // for (a in b)
			at++
		}
		end := f.findWord(at, "in")
		if end < 0 {
			return
		}
		if f.d.indented && f.tokens[i].around >= 0 { // in a comprehension
			open := int(f.tokens[i].around)
			from, to = open, f.pairOf(open)
		} else if !f.d.indented {
			from, to = end, f.headerEnd(i)
		}
		f.bindPattern(at, end, from, to, value{exprAt: end + 1, element: true})
		return
	case word == "as":
		f.bindPattern(at, f.patternEnd(at), from, to, value{exprAt: f.beforeAs(i)})
		return
	case word == "global" || word == "nonlocal":
		return
	}
	for range maxElements { // let a = 1, b = 2
		if f.is(at, "const") || f.is(at, "enum") || f.is(at, "fn") {
			return
		}
		end := f.patternEnd(at)
		v := f.valueAfter(end)
		f.bindPattern(at, end, from, to, v)
		if f.d.bars { // Rust has no lists of declarators
			return
		}
		next := f.declaratorEnd(end, v)
		if !f.is(next, ",") || next <= at {
			return
		}
		at = next + 1
	}
}

// declaratorEnd returns the token after a declarator whose pattern ends at end: the
// comma, if another declarator follows.
func (f *File) declaratorEnd(end int, v value) int {
	for k := end; k < len(f.tokens) && k < end+4*maxElements && f.step(); k++ {
		switch f.word(k) {
		case ",", ";":
			return k
		case "(", "[", "{":
			k = f.pairOf(k)
		case ")", "]", "}", "of", "in":
			return k
		case "<":
			if next := f.skipAngles(k); next > k && v.typeAt > 0 {
				k = next - 1
			}
		}
		if k > end && f.startsLine(k+1) && !f.is(k, ",") && !f.is(k+1, ",") && !f.is(k+1, ".") {
			return k + 1
		}
	}
	return len(f.tokens)
}

// readNames reads "a, b T = x, y" in Go.
func (f *File) readNames(at, from, to int) {
	names := []int{at}
	k := at + 1
	for f.is(k, ",") && f.isName(k+1) && len(names) < maxElements {
		names = append(names, k+1)
		k += 2
	}
	for n, name := range names {
		v := value{index: n}
		switch {
		case f.is(k, "="):
			v.exprAt = k + 1
		case !f.startsLine(k) && !f.is(k, ")"):
			v.typeAt, v.index = k, 0
		}
		f.bind(name, from, to, f.spreadValue(v, len(names)), false)
	}
}

// spreadValue finds the expression for one of several names: x, y := 1, 2.
func (f *File) spreadValue(v value, names int) value {
	if names < 2 || v.exprAt == 0 || v.element {
		return v
	}
	at := v.exprAt
	for n := 0; n < v.index; {
		switch f.word(at) {
		case "(", "[", "{":
			at = f.pairOf(at)
		case ",":
			n++
		}
		at++
		if at >= len(f.tokens) || f.startsLine(at) && !f.is(at-1, ",") || f.is(at, ";") || f.is(at, "{") && f.d.typeNext && n == 0 && f.is(at-1, ")") {
			return v // the results of one call
		}
	}
	return value{exprAt: at}
}

// readAssignment reads the names to the left of an operator.
func (f *File) readAssignment(i int) {
	if f.d.indented {
		f.readPlainAssignment(i)
		return
	}
	first := i - 1
	for f.isName(first) && f.is(first-1, ",") && i-first < 2*maxElements {
		first -= 2
	}
	if !f.isName(first) {
		return
	}
	count := (i-first)/2 + 1
	to := f.scopeEnd(first)
	if h := f.headerOf(first); h >= 0 {
		to = f.headerEnd(h)
	}
	ranges := f.is(i+1, "range")
	for n := range count {
		v := value{exprAt: i + 1, index: n}
		if ranges {
			v = value{exprAt: i + 2, element: true, index: n}
			if n == 0 {
				v.exprAt = 0
				if !f.is(first+1, ",") {
					v.exprAt = 0
				}
			}
		}
		f.bind(first+2*n, i, to, f.spreadValue(v, count), false)
	}
}

// readPlainAssignment reads a statement "a, b = …", or "a: T = …".
func (f *File) readPlainAssignment(i int) {
	if i == 0 || f.tokens[i].around >= 0 && !f.is(int(f.tokens[i].around), "{") {
		return // a keyword argument or a default
	}
	first := i
	for first > 0 && !f.tokens[first].newline && !f.is(first-1, ";") && i-first < 2*maxElements && f.step() {
		first--
	}
	from, to := f.scopeStart(first), f.scopeEnd(first)
	if f.isName(first) && f.is(first+1, ":") {
		f.bind(first, from, to, value{typeAt: first + 2, exprAt: i + 1}, false)
		return
	}
	for k := i - 1; k >= first; k-- {
		if f.is(k, "=") {
			first = k + 1
		}
	}
	f.bindPattern(first, i, from, to, value{exprAt: i + 1})
}

// bindPattern binds the names of a pattern in [at, end): a, (b, c), { d: e = 1, ...f },
// Some(g), h: T.
func (f *File) bindPattern(at, end, from, to int, v value) {
	many := 0
	for k := at; k < end && k < at+4*maxElements && f.step(); k++ {
		if f.is(k, ",") {
			many++
		}
	}
	index := 0
	for k := at; k < end && k < at+4*maxElements && f.step(); k++ {
		switch word := f.word(k); {
		case word == ",":
			index++
		case word == ":" && f.d.annotation == ":" && !f.inBraces(k, at):
			k = f.typeEnd(k+1, end) - 1 // the type of one name, as in a parameter list
		case word == "=":
			k = f.valueEnd(k+1, end) - 1
		case word == "[" && k > at && f.isWord(k-1), word == "(" && f.d.indented && k > at && f.isWord(k-1):
			k = f.pairOf(k)
		case !f.isWord(k), f.isMemberDot(k - 1), f.isMemberDot(k + 1):
		case f.tokens[k].keyword && !f.is(k-1, "...") && !f.isPlainWord(k):
		case f.is(k+1, ":") && f.inBraces(k, at): // { name: pattern }
		case f.d.bars && (f.is(k+1, "(") || f.is(k+1, "{") || f.is(k+1, "!")):
		case f.d.bars && k > at && isUpper(word):
		default:
			one := v
			one.index = index
			if k+1 < end && f.is(k+1, f.d.annotation) && f.d.annotation != "" && !f.inBraces(k, at) {
				one = value{typeAt: k + 2}
			} else if many == 0 && !f.inBraces(k, at) {
				one.index = 0
			} else if f.inBraces(k, at) {
				one = value{}
			}
			f.bind(k, from, to, f.spreadValue(one, many+1), false)
		}
	}
}

// isPlainWord reports whether a keyword may be a name, as the keywords that were added to
// TypeScript later may.
func (f *File) isPlainWord(i int) bool {
	return slices.Contains([]string{"type", "of", "from", "get", "set", "as", "async", "is", "module", "namespace", "declare", "abstract", "any", "string", "number", "symbol", "object", "infer", "require", "asserts", "match", "case", "print", "self", "cls", "annotation", "data", "inner", "value"}, f.word(i))
}

func isUpper(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' }

// inBraces reports whether token k is inside braces that begin at or after token at.
func (f *File) inBraces(k, at int) bool {
	a := int(f.tokens[k].around)
	return a >= at && f.is(a, "{")
}
