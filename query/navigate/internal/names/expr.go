package names

// An Expr is an expression, parsed as far as needed to find its type.
type Expr struct {
	Kind ExprKind
	// Name is the name of a variable or member, and At its token.
	Name string
	At   int
	// X is the operand of the member, call or index.
	X *Expr
	// Type is the type of a new value or a conversion.
	Type Type
}

// ExprKind is the kind of an Expr.
type ExprKind uint8

// The kinds of expressions.
const (
	ExprUnknown ExprKind = iota
	ExprName             // Name
	ExprSelf             // this
	ExprSuper
	ExprMember  // X.Name
	ExprCall    // X(…)
	ExprIndex   // X[…], or the value from a channel or promise
	ExprOf      // a value of Type
	ExprLiteral // a number, a string
)

// Receiver returns the expression before the dot that precedes the name at token i, or
// nil if there is none.
func (f *File) Receiver(i int) *Expr {
	if !f.isMemberDot(i - 1) {
		return nil
	}
	start := f.chainStart(i - 1)
	x, next := f.parseChain(start, i-1, 0)
	if next != i-1 {
		return &Expr{}
	}
	return x
}

// chainStart returns the start of the expression that ends before the dot at token i.
func (f *File) chainStart(i int) int {
	for n := 0; n < maxElements; n++ {
		k := i - 1
		for f.is(k, "!") || f.is(k, "?") {
			k--
		}
		for f.is(k, ")") || f.is(k, "]") || f.is(k, "}") {
			p := f.pairOf(k)
			if p >= k {
				return k + 1
			}
			before := p - 1
			if f.is(before, ">") {
				if open := f.anglesBefore(before); open >= 0 {
					before = open - 1
				}
			}
			if f.is(k, "}") {
				if f.d.compositeLiterals && f.isWord(before) {
					k = before
					break
				}
				return p
			}
			if f.is(before, ")") || f.is(before, "]") || f.isWord(before) && !f.isStatementWord(before) || f.is(before, "!") {
				k = before
				if f.is(k, "!") {
					k--
				}
				continue
			}
			if f.is(before, ".") && f.d.typeNext { // x.(T)
				k = before
				return f.chainStart(k)
			}
			return p
		}
		if !f.isWord(k) && !f.isKind(k, kindString) && !f.isKind(k, kindNumber) {
			return k + 1
		}
		if f.isMemberDot(k - 1) {
			i = k - 1
			continue
		}
		if f.is(k-1, "new") || f.is(k-1, "await") {
			k--
		}
		return k
	}
	return i
}

// isStatementWord reports whether token i is a word after which a bracket is not a call.
func (f *File) isStatementWord(i int) bool {
	if !f.tokens[i].keyword {
		return false
	}
	switch f.word(i) {
	case "return", "if", "for", "while", "in", "of", "case", "and", "or", "not", "await", "yield", "else", "range", "switch", "throw", "typeof", "void", "delete", "print", "assert", "is", "match":
		return true
	}
	return false
}

// ParseExpr returns the expression that begins at token i.
func (f *File) ParseExpr(i int) *Expr {
	x, _ := f.parseExpr(i, 0, true)
	return x
}

func (f *File) parseExpr(i, depth int, calls bool) (*Expr, int) {
	x, next := f.parseChainCalls(i, len(f.tokens), depth, calls)
	if f.d.indented && f.is(next, "if") { // a if b else c
		return x, next
	}
	return x, next
}

// parseChain reads a primary expression with its members and calls, up to token stop.
func (f *File) parseChain(i, stop, depth int) (*Expr, int) {
	return f.parseChainCalls(i, stop, depth, true)
}

func (f *File) parseChainCalls(i, stop, depth int, calls bool) (*Expr, int) {
	if depth > maxDepth {
		return &Expr{}, i
	}
	x, i := f.parsePrimary(i, stop, depth)
	for n := 0; n < maxElements && i < stop && x.Kind != ExprUnknown; n++ {
		switch {
		case f.isMemberDot(i) && f.d.typeNext && f.is(i+1, "("):
			t, _ := f.parseType(i+2, depth+1)
			x, i = &Expr{Kind: ExprOf, Type: t}, f.pairOf(i+1)+1
		case f.isMemberDot(i) && f.is(i+1, "<"):
			i = f.skipAngles(i + 1)
		case f.isMemberDot(i) && f.isWord(i+1):
			if f.is(i+1, "await") {
				i += 2
				continue
			}
			x, i = &Expr{Kind: ExprMember, Name: f.word(i + 1), At: i + 1, X: x}, i+2
		case f.is(i, "(") && calls && !f.endsStatement(i):
			x, i = &Expr{Kind: ExprCall, X: x, At: i}, f.pairOf(i)+1
		case f.is(i, "[") && !f.endsStatement(i):
			if f.d.typeNext && (f.is(f.pairOf(i)+1, "(") || f.is(f.pairOf(i)+1, "{")) && f.isWord(i+1) {
				i = f.pairOf(i) + 1 // type arguments
				continue
			}
			x, i = &Expr{Kind: ExprIndex, X: x}, f.pairOf(i)+1
		case f.is(i, "<") && (f.is(f.skipAngles(i), "(") || f.is(f.skipAngles(i), "::")) && !f.d.indented:
			i = f.skipAngles(i)
		case f.is(i, "!") && f.isMemberDot(i+1), f.is(i, "?") && f.d.bars:
			i++
		case f.d.compositeLiterals && f.is(i, "{") && (x.Kind == ExprName || x.Kind == ExprMember) && (f.d.typeNext || isUpper(x.Name)) && f.isComposite(i):
			t, _ := f.parseType(f.exprStart(x), depth+1)
			x, i = &Expr{Kind: ExprOf, Type: t}, f.pairOf(i)+1
		case f.is(i, "as") && f.tokens[i].keyword && !f.d.indented && !f.is(i+1, "const"):
			t, next := f.parseType(i+1, depth+1)
			x, i = &Expr{Kind: ExprOf, Type: t}, next
		default:
			return x, i
		}
	}
	return x, i
}

// isComposite reports whether the brace at token i begins a literal rather than a block.
func (f *File) isComposite(i int) bool {
	if !f.d.typeNext {
		return f.headerOf(i-1) < 0
	}
	h := f.headerOf(i - 1)
	return h < 0 || f.is(h, "case")
}

func (f *File) exprStart(x *Expr) int {
	for x.X != nil {
		x = x.X
	}
	return x.At
}

// endsStatement reports whether token i begins a new statement.
func (f *File) endsStatement(i int) bool {
	return f.tokens[i].newline && (f.d.typeNext || f.d.indented && f.tokens[i].around < 0 || f.is(i, "["))
}

func (f *File) parsePrimary(i, stop, depth int) (*Expr, int) {
	element := 0
	for i < stop && (f.isKind(i, kindOperator) || f.isWord(i) && f.tokens[i].keyword) {
		switch f.word(i) {
		case "&", "*", "-", "!", "await", "mut", "yield", "from", "range", "move":
		case "<":
			if f.is(i+1, "-") {
				element++
				i++
			} else {
				return f.parseOperand(i, stop, depth)
			}
		case "<-":
			element++
		default:
			x, next := f.parseOperand(i, stop, depth)
			return yieldElement(x, element), next
		}
		if f.is(i, "from") && !f.is(i-1, "yield") {
			break
		}
		i++
	}
	if i >= stop {
		return &Expr{}, i
	}
	x, next := f.parseOperand(i, stop, depth)
	if element > 0 {
		for f.isMemberDot(next) && f.isWord(next+1) { // <-a.b
			x, next = &Expr{Kind: ExprMember, Name: f.word(next + 1), At: next + 1, X: x}, next+2
		}
	}
	return yieldElement(x, element), next
}

func yieldElement(x *Expr, n int) *Expr {
	if n > 0 {
		return &Expr{Kind: ExprIndex, X: x}
	}
	return x
}

// parseOperand reads a name, a literal, a group, or an expression that creates a value.
func (f *File) parseOperand(i, stop, depth int) (*Expr, int) {
	switch {
	case f.isKind(i, kindString), f.isKind(i, kindNumber):
		return &Expr{Kind: ExprLiteral}, i + 1
	case f.is(i, "("):
		closing := f.pairOf(i)
		if (f.d.languages == java.languages || f.d.languages == csharp.languages) && closing+1 < stop && (f.isWord(closing+1) || f.is(closing+1, "(")) && f.isWord(i+1) {
			if t, next := f.parseType(i+1, depth+1); next == closing {
				_, after := f.parseChain(closing+1, stop, depth+1)
				return &Expr{Kind: ExprOf, Type: t}, after
			}
		}
		x, _ := f.parseChain(i+1, closing, depth+1)
		return x, closing + 1
	case f.is(i, "<") && f.d.annotation == ":" && !f.d.bars: // <T>x
		if end := f.skipAngles(i); end > i {
			t, _ := f.parseType(i+1, depth+1)
			_, next := f.parseChain(end, stop, depth+1)
			return &Expr{Kind: ExprOf, Type: t}, next
		}
	case f.d.typeNext && (f.is(i, "[") || f.is(i, "map") || f.is(i, "chan") || f.is(i, "struct")):
		t, next := f.parseType(i, depth+1)
		if f.is(next, "{") || f.is(next, "(") {
			next = f.pairOf(next) + 1
		}
		return &Expr{Kind: ExprOf, Type: t}, next
	case f.d.typeNext && f.is(i, "func") && f.is(i+1, "("):
		t, next := f.parseType(i, depth+1)
		if f.is(next, "{") {
			next = f.pairOf(next) + 1
		}
		return &Expr{Kind: ExprOf, Type: t}, next
	case f.d.typeNext && (f.is(i, "make") || f.is(i, "new")) && f.is(i+1, "("):
		t, _ := f.parseType(i+2, depth+1)
		return &Expr{Kind: ExprOf, Type: t}, f.pairOf(i+1) + 1
	case f.is(i, "new"):
		t, next := f.parseType(i+1, depth+1)
		if f.is(next, "(") {
			next = f.pairOf(next) + 1
		}
		if f.is(next, "{") && f.d.typeFirst {
			next = f.pairOf(next) + 1
		}
		return &Expr{Kind: ExprOf, Type: t}, next
	case f.is(i, "{") && f.d.annotation == ":" && !f.d.indented && !f.d.bars:
		return &Expr{Kind: ExprOf, Type: Type{File: f, Body: i}}, f.pairOf(i) + 1
	case f.is(i, "[") && f.pairOf(i) > i+1:
		x, _ := f.parseChain(i+1, f.pairOf(i), depth+1)
		return &Expr{Kind: ExprLiteral, X: x}, f.pairOf(i) + 1
	case f.is(i, "super") && f.d.sets.super["super"] && f.d.indented && f.is(i+1, "("):
		return &Expr{Kind: ExprSuper, At: i}, f.pairOf(i+1) + 1
	case f.isWord(i) && f.d.sets.self[f.word(i)]:
		return &Expr{Kind: ExprSelf, Name: f.word(i), At: i}, i + 1
	case f.isWord(i) && f.d.sets.super[f.word(i)]:
		return &Expr{Kind: ExprSuper, At: i}, i + 1
	case f.isName(i), f.isWord(i) && f.isPlainWord(i):
		return &Expr{Kind: ExprName, Name: f.word(i), At: i}, i + 1
	}
	return &Expr{}, i
}
