package names

// declaring are words before the name of a type or before type parameters.
var declaring = wordSet("class interface type struct enum trait record union function fn")

// readTypeParameters binds the names in the angle brackets that begin at token i, if they
// are type parameters: in "class A<T>", "function f<T>(", "<T> T f(", "impl<T>", "<T>(a:
// T) =>".
func (f *File) readTypeParameters(i int) {
	end := f.skipAngles(i)
	if end == i {
		return
	}
	from, to := i, 0
	switch {
	case f.is(i-1, "template"), f.is(i-1, "impl"), f.is(i-1, "for"):
		to = f.declarationEnd(end)
	case f.isWord(i-1) && f.isWord(i-2) && declaring[f.word(i-2)]:
		if to = f.declarationEnd(end); f.is(end, "(") && !f.is(i-2, "record") {
			to = f.functionEnd(end)
		}
	case f.is(end, "(") && f.isWord(i-1) && f.DefinitionAt(i-1) != nil:
		to = f.functionEnd(end)
	case f.is(end, "(") && f.is(f.pairOf(end)+1, "=>"), f.is(end, "(") && f.is(f.pairOf(end)+1, ":") && !f.isWord(i-1):
		if to = f.lambdaEnd(f.pairOf(end) + 1); f.is(f.pairOf(end)+1, ":") {
			to = f.functionEnd(end)
		}
	case f.is(i-1, "function") && f.is(end, "("):
		to = f.functionEnd(end)
	case f.d.typeFirst && f.isWord(end) && (i == 0 || !f.isName(i-1) && !f.isMemberDot(i-1)): // before the result type
		to = f.declarationEnd(end)
	default:
		return
	}
	depth := 0
	for k := i; k < end && f.step(); k++ {
		switch f.word(k) {
		case "<":
			depth++
		case ">":
			depth--
		case "(", "[", "{":
			k = f.pairOf(k)
			continue
		}
		if depth != 1 || !f.is(k, "<") && !f.is(k, ",") {
			continue
		}
		name := k + 1
		for f.isWord(name) && f.tokens[name].keyword && f.isWord(name+1) && name < end {
			name++
		}
		v := value{}
		if f.is(name+1, "extends") || f.is(name+1, ":") {
			v.typeAt = name + 2
		}
		f.bind(name, from, to, v, true)
	}
}

// declarationEnd returns the end of the declaration around token i: the end of its first
// block, or of the statement.
func (f *File) declarationEnd(i int) int {
	around := int32(-1)
	if i < len(f.tokens) {
		around = f.tokens[i].around
	}
	for k := i; k < len(f.tokens) && f.step(); k++ {
		if f.tokens[k].around < around || f.tokens[k].pair >= 0 && f.pairOf(k) < i {
			return k
		}
		switch f.word(k) {
		case "{":
			if p := f.pairOf(k); f.is(k-1, "=") || f.is(k-1, "|") || f.is(k-1, "&") || f.is(k-1, ":") || f.is(k-1, "?") || f.is(k-1, "extends") {
				k = p
				continue
			} else if p > k {
				return p
			}
		case "(", "[":
			k = f.pairOf(k)
		case ";":
			return k
		}
		if k > i && f.startsLine(k+1) && f.isWord(k+1) && (declaring[f.word(k+1)] || f.is(k+1, "export") || f.is(k+1, "const") || f.is(k+1, "declare")) && !f.is(k, "=") {
			return k + 1
		}
	}
	return len(f.tokens)
}
