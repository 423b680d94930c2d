package names

// scopeEnd returns the token at which the scope of names declared at token i ends: the
// end of the enclosing block.
func (f *File) scopeEnd(i int) int {
	if f.d.indented {
		if k := f.functionAround(i); k >= 0 {
			return f.blockEnd(k)
		}
		return len(f.tokens)
	}
	if h := f.headerOf(i); h >= 0 {
		return f.headerEnd(h)
	}
	for a := int(f.tokens[i].around); a >= 0 && f.step(); a = int(f.tokens[a].around) {
		if f.is(a, "{") && f.tokens[a].pair >= 0 {
			return int(f.tokens[a].pair)
		}
	}
	return len(f.tokens)
}

// scopeStart returns the token at which that scope begins, in languages where order does
// not matter.
func (f *File) scopeStart(i int) int {
	if f.d.functionScope {
		if k := f.functionAround(i); k >= 0 {
			return k
		}
	}
	return 0
}

// functionAround returns the keyword of the innermost function or class around token i in
// an indented language, or -1 if there is none.
func (f *File) functionAround(i int) int {
	return int(f.lines.around[f.lineStart(i)])
}

// lineStart returns the first token of the statement that contains token i in an indented
// language.
func (f *File) lineStart(i int) int { return int(f.lines.start[min(i, len(f.tokens)-1)]) }

// indentation holds the positions of statements and blocks in an indented language.
type indentation struct {
	start  []int32 // for each token, the first token of its statement
	around []int32 // for each first token, the keyword of the enclosing function or class
	// ends holds for each first token the token after its statement or, of a function or
	// class, after its block.
	ends []int32
}

// readIndentation finds the statements and blocks.
func (f *File) readIndentation() {
	type block struct {
		column      int
		first, word int32
	}
	var open []block
	l := indentation{start: make([]int32, len(f.tokens)), around: make([]int32, len(f.tokens)), ends: make([]int32, len(f.tokens))}
	start := int32(0)
	for i := range f.tokens {
		if i == 0 || f.tokens[i].newline && f.tokens[i].around < 0 && f.pairOf(i) >= i { // not a closing bracket
			l.ends[start] = int32(i)
			start = int32(i)
			column := f.column(i)
			for len(open) > 0 && open[len(open)-1].column >= column {
				l.ends[open[len(open)-1].first] = int32(i)
				open = open[:len(open)-1]
			}
			l.around[i] = -1
			if len(open) > 0 {
				l.around[i] = open[len(open)-1].word
			}
			word := i
			if f.is(word, "async") {
				word++
			}
			if f.is(word, "def") || f.is(word, "class") {
				open = append(open, block{column, start, int32(word)})
			}
		}
		l.start[i] = start
	}
	l.ends[start] = int32(len(f.tokens))
	for _, b := range open {
		l.ends[b.first] = int32(len(f.tokens))
	}
	f.lines = l
}

// column returns the number of bytes before token i in its line.
func (f *File) column(i int) int {
	at := int(f.tokens[i].start)
	n := 0
	for at > 0 && f.Text[at-1] != '\n' && n < maxColumn {
		at--
		n++
	}
	return n
}

const maxColumn = 1000

// blockEnd returns the token after the block of the function or class at token i, or after
// the statement if it begins with another word, in an indented language.
func (f *File) blockEnd(i int) int {
	return int(f.lines.ends[f.lineStart(i)])
}

// headerOf returns the keyword of the statement whose header contains token i, such as
// "for" before its block, or -1 if there is none.
func (f *File) headerOf(i int) int {
	if len(f.d.sets.headers) == 0 || i < 0 || i >= len(f.tokens) {
		return -1
	}
	around := int(f.tokens[i].around)
	if around >= 0 && f.is(around, "(") && f.isWord(around-1) && f.d.sets.headers[f.word(around-1)] {
		return around - 1
	}
	for k := i; k >= 0 && k > i-maxElements && f.step(); k-- {
		if int(f.tokens[k].around) != around {
			continue
		}
		if f.isWord(k) && f.tokens[k].keyword && f.d.sets.headers[f.word(k)] {
			if f.d.languages == typescript.languages || f.d.languages == java.languages || f.d.languages == csharp.languages || f.d.languages == cFamily.languages {
				return -1 // their headers are in brackets
			}
			return k
		}
		if f.is(k, ";") && f.d.typeNext {
			continue
		}
		if f.is(k, "{") || f.is(k, "}") || f.is(k, ";") {
			return -1
		}
		if k < i && f.tokens[k].newline && !f.isWord(k) {
			return -1
		}
		if k < i && f.startsLine(k+1) && f.d.typeNext {
			return -1
		}
	}
	return -1
}

// headerEnd returns the end of the blocks after the header that begins at token i.
func (f *File) headerEnd(i int) int {
	around := f.tokens[i].around
	if f.is(i, "case") {
		for k := i + 1; k < len(f.tokens) && f.step(); k++ {
			if f.tokens[k].around == around && f.is(k, "case") || f.is(k, "}") && int(f.tokens[k].pair) == int(around) {
				return k
			}
		}
		return len(f.tokens)
	}
	for k := i + 1; k < len(f.tokens) && f.step(); k++ {
		if f.tokens[k].around != around {
			continue
		}
		if f.is(k, "(") && k == i+1 && !f.d.typeNext && !f.d.bars {
			k = f.pairOf(k)
			if !f.is(k+1, "{") { // a single statement
				if end := f.statementEnd(k + 1); end > k {
					return end
				}
			}
			continue
		}
		if f.is(k, "{") && f.tokens[k].pair > 0 {
			end := f.pairOf(k)
			if f.is(end+1, "{") || f.is(end+1, "else") || f.is(end+1, "catch") && f.is(i, "try") || f.is(end+1, "finally") || f.is(end+1, ".") || f.is(end+1, ",") || f.is(end+1, ")") {
				k = end
				continue
			}
			return end + 1
		}
		if f.is(k, "}") || f.is(k, ";") && !f.d.typeNext {
			return k
		}
	}
	return len(f.tokens)
}

// statementEnd returns the token after the statement that begins at token i.
func (f *File) statementEnd(i int) int {
	for k := i; k < len(f.tokens) && f.step(); k++ {
		switch f.word(k) {
		case "(", "[":
			k = f.pairOf(k)
		case "{":
			return f.pairOf(k) + 1
		case ";", "}", ")":
			return k
		}
	}
	return len(f.tokens)
}

// functionEnd returns the end of the body of the function whose parameter list opens at
// open.
func (f *File) functionEnd(open int) int {
	if f.d.indented {
		return f.blockEnd(open)
	}
	end := f.pairOf(open)
	if f.d.annotation == ":" && f.is(end+1, ":") { // the result type, which may contain braces
		if next := f.typeEnd(end+2, len(f.tokens)); f.is(next, "{") || f.is(next, "=>") {
			end = next - 1
		}
	}
	for k := end + 1; k < len(f.tokens) && k < end+maxHead && f.step(); k++ {
		switch f.word(k) {
		case "{":
			if f.d.annotation == ":" && (f.is(k-1, ":") || f.is(k-1, "|") || f.is(k-1, "&")) || f.is(k-1, "struct") || f.is(k-1, "interface") {
				k = f.pairOf(k) // a type
				continue
			}
			return f.pairOf(k)
		case "(", "[":
			k = f.pairOf(k)
		case ";", "}", ")", "]":
			return k
		case "=>", "=":
			if f.d.annotation == ":" && f.is(k, "=>") && f.is(k+1, "{") {
				return f.pairOf(k + 1)
			}
		}
		if f.startsLine(k) && f.isWord(k) && f.d.typeNext {
			return k
		}
	}
	return end
}

// maxHead bounds the tokens between parameters and body.
const maxHead = 400

// findWord returns the token with the given word in the statement of token i, at the same
// depth, or -1 if there is none.
func (f *File) findWord(i int, word string) int {
	for k := i; k < len(f.tokens) && k < i+4*maxElements && f.step(); k++ {
		switch f.word(k) {
		case word:
			return k
		case "(", "[", "{":
			k = f.pairOf(k)
		case ";", ")", "]", "}":
			return -1
		}
	}
	return -1
}

// patternEnd returns the token after a name or pattern that begins at i.
func (f *File) patternEnd(i int) int {
	switch f.word(i) {
	case "(", "[", "{":
		return f.pairOf(i) + 1
	}
	for k := i; k < len(f.tokens) && k < i+maxElements; k++ {
		switch f.word(k) {
		case "(", "[", "{":
			if f.d.indented {
				return k
			}
			k = f.pairOf(k)
		case ":", "=", ",", ";", ")", "]", "}", "in", "of", "!", "?":
			return k
		}
		if k > i && f.tokens[k].newline && !f.d.bars {
			return k
		}
	}
	return min(i+1, len(f.tokens))
}

// valueAfter returns the type and the value that follow a pattern that ends at token i.
func (f *File) valueAfter(i int) value {
	v := value{}
	if f.is(i, "!") || f.is(i, "?") {
		i++
	}
	if f.d.annotation != "" && f.is(i, f.d.annotation) {
		v.typeAt = i + 1
		i = f.typeEnd(i+1, len(f.tokens))
	}
	switch {
	case f.is(i, "="):
		v.exprAt = i + 1
	case f.is(i, "of"):
		v.exprAt, v.element = i+1, true
	}
	return v
}

// typeEnd returns the token after a type that begins at i, but at most end.
func (f *File) typeEnd(i, end int) int {
	_, k := f.parseType(i, 0)
	return min(max(k, i+1), end)
}

// valueEnd returns the token after an expression that begins at i, but at most end.
func (f *File) valueEnd(i, end int) int {
	for k := i; k < end && f.step(); k++ {
		switch f.word(k) {
		case "(", "[", "{":
			k = f.pairOf(k)
		case ",", ";", ")", "]", "}":
			return k
		}
	}
	return end
}

// beforeAs returns the start of the expression before the "as" at token i.
func (f *File) beforeAs(i int) int {
	for k := i - 1; k > 0 && k > i-maxElements; k-- {
		switch f.word(k) {
		case ")", "]", "}":
			if p := f.pairOf(k); p < k {
				k = p
			}
		case "with", ",", "except", "import", "(", "async":
			return k + 1
		}
		if f.tokens[k].newline {
			return k
		}
	}
	return 0
}
