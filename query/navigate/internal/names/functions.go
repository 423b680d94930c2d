package names

// readFunction reads the parameters after a word such as func.
func (f *File) readFunction(i int) {
	if f.is(i, "lambda") {
		end := f.findWord(i+1, ":")
		if end < 0 {
			return
		}
		f.bindPattern(i+1, end, end, f.valueEnd(end+1, len(f.tokens)), value{})
		return
	}
	at := i + 1
	if f.d.typeNext && f.is(at, "(") { // a receiver, or a function without a name
		open := at
		if f.isWord(f.pairOf(at)+1) && f.is(f.pairOf(at)+2, "(") && f.startsDeclaration(i) {
			open = f.pairOf(at) + 2
			f.readParameters(at, f.functionEnd(open))
		}
		f.readParameters(open, f.functionEnd(open))
		f.readResults(open)
		return
	}
	if f.is(at, "*") {
		at++
	}
	if f.isWord(at) {
		at++
	}
	if f.d.typeNext && f.is(at, "[") {
		f.readParameters(at, f.functionEnd(f.pairOf(at)+1))
		at = f.pairOf(at) + 1
	}
	if next := f.skipAngles(at); next > at {
		if at = next; f.isWord(at) && f.d.implicitSelf { // fun <T> name
			at++
		}
	}
	for f.isMemberDot(at) && f.isWord(at+1) { // fun Type.name
		at += 2
	}
	if f.is(at, "(") {
		f.readParameters(at, f.functionEnd(at))
		f.readResults(at)
	}
}

// startsDeclaration reports whether token i begins a line at the top level.
func (f *File) startsDeclaration(i int) bool {
	return f.tokens[i].newline && f.tokens[i].around < 0
}

// readResults binds the named results of a Go function.
func (f *File) readResults(open int) {
	if !f.d.typeNext {
		return
	}
	if results := f.pairOf(open) + 1; f.is(results, "(") {
		f.readParameters(results, f.functionEnd(open))
	}
}

// readParameters binds the names of a parameter list; they are visible up to token end.
func (f *File) readParameters(open, end int) {
	closing := f.pairOf(open)
	if closing <= open {
		return
	}
	if f.d.typeNext {
		f.readTypedLists(open, closing, end)
		return
	}
	at := open + 1
	first := true
	for n := 0; at < closing && n < maxElements; n++ {
		stop := f.valueEnd(at, closing)
		if f.d.annotation == ":" && f.tokenRange(at, stop, "<") {
			stop = f.parameterEnd(at, closing)
		}
		f.readParameter(at, stop, open, end, first)
		first = false
		at = stop + 1
	}
}

func (f *File) tokenRange(from, to int, word string) bool {
	for k := from; k < to; k++ {
		if f.is(k, word) {
			return true
		}
	}
	return false
}

// parameterEnd is like valueEnd, but allows type arguments in angle brackets.
func (f *File) parameterEnd(at, closing int) int {
	for k := at; k < closing && f.step(); k++ {
		switch f.word(k) {
		case "(", "[", "{":
			k = f.pairOf(k)
		case "<":
			if next := f.skipAngles(k); next > k {
				k = next - 1
			}
		case ",":
			return k
		}
	}
	return closing
}

func (f *File) readParameter(at, stop, open, end int, first bool) {
	for at < stop && (f.is(at, "*") || f.is(at, "...") || f.is(at, "&") || f.is(at, "mut") || f.is(at, "@") ||
		f.isWord(at) && f.isWord(at+1) && at+1 < stop) {
		if f.is(at, "@") && f.isWord(at+1) {
			at++
			if f.is(at+1, "(") {
				at = f.pairOf(at + 1)
			}
		}
		at++
	}
	if at >= stop {
		return
	}
	name := at
	at++
	if f.is(name, "{") || f.is(name, "[") || f.is(name, "(") || f.d.bars && (f.is(at, "(") || f.is(at, "{")) {
		close := f.pairOf(name)
		if close == name {
			close = f.pairOf(at)
		}
		f.bindPattern(name, close+1, open, end, f.valueAfter(close+1))
		return
	}
	v := f.valueAfter(at)
	if first && f.d.selfParameter && v.typeAt == 0 && f.tokens[open].around < 0 && f.column(f.lineStart(open)) > 0 {
		v = value{exprAt: 0, index: selfIndex}
	}
	f.bindParameter(name, open, end, v)
}

// selfIndex marks a parameter that is the object of the method.
const selfIndex = -1

func (f *File) bindParameter(name, open, end int, v value) {
	if !f.isWord(name) || f.tokens[name].keyword && !f.isPlainWord(name) {
		return
	}
	f.bind(name, open, end, v, true)
}

// readTypedLists reads "a, b T, c U" in Go. A list in which no name precedes a type
// contains only types.
func (f *File) readTypedLists(open, closing, end int) {
	type part struct{ at, stop int }
	var parts []part
	named := false
	for at := open + 1; at < closing && len(parts) < maxElements; {
		stop := f.valueEnd(at, closing)
		parts = append(parts, part{at, stop})
		if f.isName(at) && stop > at+1 && !f.is(at+1, ".") && !f.is(at+1, "[") || f.isName(at) && f.is(at+1, "[") && stop > f.pairOf(at+1)+1 {
			named = true
		}
		at = stop + 1
	}
	if !named {
		return
	}
	typeAt := 0
	for k := len(parts) - 1; k >= 0; k-- {
		if p := parts[k]; p.stop > p.at+1 {
			typeAt = p.at + 1
			if f.is(typeAt, "...") {
				typeAt++
				f.bind(p.at, open, end, value{typeAt: typeAt, index: variadicIndex}, true)
				continue
			}
		}
		f.bind(parts[k].at, open, end, value{typeAt: typeAt}, true)
	}
}

// variadicIndex marks a parameter that is a list of its type.
const variadicIndex = -2

// readLambda binds the parameters before the arrow at token i.
func (f *File) readLambda(i int) {
	if f.d.typeFirst && f.is(i-1, "case") || f.is(i-1, "default") {
		return
	}
	end := f.lambdaEnd(i)
	switch open := f.lambdaParameters(i); {
	case open < 0:
	case f.is(open, "("):
		if f.d.typeFirst {
			for k := open + 1; k < f.pairOf(open); k++ {
				if f.isName(k) && (f.is(k+1, ",") || f.is(k+1, ")")) && (f.is(k-1, ",") || f.is(k-1, "(")) {
					f.bindParameter(k, open, end, value{})
				}
			}
			return // parameters with a type are read elsewhere
		}
		f.readParameters(open, end)
	default:
		f.bindParameter(open, open, end, value{})
	}
}

// lambdaParameters returns the name or bracket at which the parameters before an arrow
// begin, or -1 if they are not parameters of a function.
func (f *File) lambdaParameters(i int) int {
	if f.isWord(i-1) && !f.is(i-2, ":") && !f.isMemberDot(i-2) {
		return i - 1
	}
	for k := i - 1; k >= 0 && k > i-maxHead && f.step(); k-- {
		if f.is(k, ")") {
			open := f.pairOf(k)
			if k == i-1 || f.is(k+1, ":") {
				if open < k {
					return open
				}
				return -1
			}
			k = open
			continue
		}
		switch f.word(k) {
		case ";", "{", "(", ",", "=":
			return -1
		case "}", "]":
			k = f.pairOf(k)
		}
	}
	return -1
}

// lambdaEnd returns the end of the body after the arrow at token i.
func (f *File) lambdaEnd(i int) int {
	if f.is(i+1, "{") {
		return f.pairOf(i + 1)
	}
	return f.valueEnd(i+1, len(f.tokens))
}

// beginsClosure reports whether the bar at token i begins a parameter list.
func (f *File) beginsClosure(i int) bool {
	return f.is(i-1, "(") || f.is(i-1, ",") || f.is(i-1, "=") || f.is(i-1, "move") || f.is(i-1, "{") || f.is(i-1, "return") || f.is(i-1, "=>")
}

func (f *File) readClosure(i int) {
	for k := i + 1; k < i+maxElements && k < len(f.tokens); k++ {
		switch f.word(k) {
		case "(", "[", "{":
			k = f.pairOf(k)
		case "|":
			end := f.valueEnd(k+1, len(f.tokens))
			if f.is(k+1, "{") {
				end = f.pairOf(k + 1)
			}
			f.bindPattern(i+1, k, i, end, value{})
			return
		case ";":
			return
		}
	}
}

// readBraceLambda reads the parameters before the first "->" of a function in braces, as in
// Kotlin: { a, (b, c) -> … }. The braces of a when have conditions there, and a statement may have
// a function type: { call() as (T) -> Unit }. No two words and no call are among parameters.
func (f *File) readBraceLambda(i int) {
	open := int(f.tokens[i].around)
	if open < 0 || !f.is(open, "{") || i-open > maxElements || f.is(open-1, "when") || f.is(open-1, ")") && f.is(f.pairOf(open-1)-1, "when") {
		return
	}
	for k := open + 1; k < i; k++ {
		if f.isWord(k-1) && (f.isWord(k) || f.is(k, "(")) ||
			k > open+1 && f.startsLine(k) && !f.is(k-1, ",") || f.is(k, "->") && int(f.tokens[k].around) == open {
			return
		}
	}
	f.bindPattern(open+1, i, open, f.pairOf(open), value{})
}

// readTuple reads "var (a, b) =" in C# and "auto [a, b] =" in C++, also in the header of a
// loop.
func (f *File) readTuple(i int) {
	at := i + 1
	for f.is(at, "&") || f.is(at, "&&") {
		at++
	}
	closing := f.pairOf(at)
	if closing <= at {
		return
	}
	v := value{exprAt: closing + 2, element: f.is(closing+1, ":") || f.is(closing+1, "in")}
	if v.element || f.is(closing+1, "=") {
		f.bindPattern(at, closing+1, i, f.scopeEnd(i), v)
	}
}

// readArm reads the pattern before the "=>" at token i in the body of a match.
func (f *File) readArm(i int) {
	body := int(f.tokens[i].around)
	if body < 1 || !f.is(body, "{") || !f.isMatch(body) {
		return
	}
	first, end := i, i
	for first > body+1 && !f.is(first-1, ",") && f.step() {
		if first--; f.is(first, ")") || f.is(first, "]") || f.is(first, "}") {
			if f.is(first, "}") && f.startsLine(first+1) {
				first++ // the body of the previous arm
				break
			}
			first = f.pairOf(first)
		} else if f.is(first, "if") {
			end = first
		}
	}
	to := f.valueEnd(i+1, len(f.tokens))
	if f.is(i+1, "{") {
		to = f.pairOf(i + 1)
	}
	from := first
	if isUpper(f.word(first)) {
		first++ // a constant or a variant
	}
	f.bindPattern(first, end, from, to, value{})
}

// isMatch reports whether the bracket at token body opens the body of a match.
func (f *File) isMatch(body int) bool {
	for k := body - 1; k >= 0 && k > body-maxElements && f.step(); k-- {
		switch f.word(k) {
		case "match":
			return f.tokens[k].keyword
		case "{", ";", "=", "=>":
			return false
		case ")", "]", "}":
			if f.startsLine(k + 1) {
				return false
			}
			k = f.pairOf(k)
		}
	}
	return false
}

// readTyped binds the name at token i if a type precedes it: "List<T> name =".
func (f *File) readTyped(i int) {
	switch f.word(i + 1) {
	case "=", ";", ":", ",", ")", "[", "in", "{", "&&", "->":
	default:
		if !f.is(i-1, "instanceof") && !(f.isKind(i+1, kindOperator) && f.instanceBefore(i)) {
			return
		}
	}
	typeAt := f.typeBefore(i)
	if typeAt < 0 || f.DefinitionAt(i) != nil {
		return
	}
	open := int(f.tokens[i].around)
	switch {
	case f.instanceBefore(i):
		f.bind(i, i, f.scopeEnd(i), value{typeAt: typeAt}, false)
		return
	case open >= 0 && f.is(open, "(") && !f.d.sets.headers[f.word(open-1)]:
		if f.is(i+1, ",") || f.is(i+1, ")") || f.is(i+1, "=") || f.is(i+1, "[") {
			end := f.functionEnd(open)
			if f.d.lambda != "" && f.is(f.pairOf(open)+1, f.d.lambda) {
				end = f.lambdaEnd(f.pairOf(open) + 1)
			}
			f.bind(i, open, end, value{typeAt: typeAt}, true)
		}
		return
	case f.is(i+1, ")") && open >= 0 && !f.is(open-1, "catch"), f.is(i+1, "{"), f.is(i+1, "&&"), f.is(i+1, "->"):
		return
	}
	v := value{typeAt: typeAt}
	if f.is(typeAt, "var") || f.is(typeAt, "auto") {
		v = value{}
		switch f.word(i + 1) {
		case "=":
			v.exprAt = i + 2
		case ":", "in":
			v.exprAt, v.element = i+2, true
		}
	}
	to := f.scopeEnd(i)
	f.bind(i, i, to, v, false)
	for k := f.valueEnd(i+1, to); f.is(k, ",") && f.isName(k+1) && !f.is(open, "("); k = f.valueEnd(k+1, to) { // int a, b
		f.bind(k+1, i, to, v, false)
	}
}

// instanceBefore reports whether the name at token i belongs to a pattern: x instanceof T
// name.
func (f *File) instanceBefore(i int) bool {
	for k := i - 1; k > i-12 && k >= 0; k-- {
		if f.is(k, "instanceof") || f.d.languages == csharp.languages && f.is(k, "is") {
			return true
		}
		if f.is(k, "&&") || f.is(k, ";") || f.is(k, "{") || f.is(k, "=") {
			return false
		}
	}
	return false
}

// typeBefore returns the start of the type that precedes the name at token i, or -1 if
// there is none.
func (f *File) typeBefore(i int) int {
	k := i - 1
	if f.is(k, "?") && f.is(i+1, ":") {
		return -1 // a conditional expression
	}
	for f.is(k, "...") || f.is(k, "*") || f.is(k, "&") || f.is(k, "&&") || f.is(k, "?") || f.is(k, "const") && f.d.arrowMember {
		k--
	}
	for f.is(k, "]") && f.pairOf(k) < k {
		k = f.pairOf(k) - 1
	}
	if f.is(k, ">") {
		open := f.anglesBefore(k)
		if open < 0 {
			return -1
		}
		k = open - 1
	}
	if !f.isWord(k) || f.tokens[k].keyword && !typeWords[f.word(k)] {
		return -1
	}
	if i-1 != k && (f.is(i-1, "*") || f.is(i-1, "&") || f.is(i-1, "&&")) {
		// It is a type at the beginning of a statement or parameter, and a product
		// otherwise.
		first := k
		for f.isMemberDot(first-1) && f.isWord(first-2) {
			first -= 2
		}
		if prev := f.word(first - 1); !(prev == "" || prev == ";" || prev == "{" || prev == "}" || prev == "(" || prev == "," || prev == "const" || prev == "static" || prev == "<" || prev == "struct" || prev == "unsigned") {
			return -1
		}
	}
	for f.isMemberDot(k-1) && f.isWord(k-2) {
		k -= 2
	}
	if f.isMemberDot(k - 1) {
		return -1
	}
	return k
}

// typeWords are keywords that are types.
var typeWords = wordSet("int long short byte char boolean bool float double void var auto string object decimal uint ulong ushort sbyte dynamic unsigned signed size_t nint wchar_t")
