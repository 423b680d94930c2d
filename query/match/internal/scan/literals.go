package scan

// A Literals finds the next of several literals. It belongs to one goroutine.
type Literals struct {
	finders    []*literal
	cursors    []cursor
	start, end []int // cached next occurrence of each literal
	text       []byte
	ascii      bool // the text is known to be ASCII; set only where it helps
}

// NewLiterals returns a finder of the literals, which must not be empty. With fold they
// must be folded (postings.AppendFold). If two literals start at the same place, the
// earlier one in the list is found.
func NewLiterals(texts []string, fold bool) *Literals {
	l := &Literals{cursors: make([]cursor, len(texts)), start: make([]int, len(texts)), end: make([]int, len(texts))}
	for _, s := range texts {
		l.finders = append(l.finders, newLiteral(s, fold))
	}
	return l
}

// Reset starts a new text.
func (l *Literals) Reset(text []byte) {
	l.text = text
	needs := false
	for i, f := range l.finders {
		l.start[i], l.cursors[i] = -1, cursor{-1, -1}
		f.comparedBytes = 0
		needs = needs || f.needsASCII()
	}
	l.ascii = needs && isASCII(text)
}

// Next returns the first occurrence that starts at or after from, or -1, -1.
// from must not go back without a Reset.
func (l *Literals) Next(from int) (start, end int) {
	if len(l.finders) == 1 {
		return l.finders[0].next(l.text, from, l.ascii, &l.cursors[0])
	}
	none := len(l.text) + 1
	best := none
	for i, f := range l.finders {
		if l.start[i] < from {
			if l.start[i], l.end[i] = f.next(l.text, from, l.ascii, &l.cursors[i]); l.start[i] < 0 {
				l.start[i] = none
			}
		}
		if l.start[i] < best {
			best, end = l.start[i], l.end[i]
		}
	}
	if best == none {
		return -1, -1
	}
	return best, end
}

// MayCross reports whether an occurrence may begin in text and end after it.
func (l *Literals) MayCross(text []byte) bool {
	for _, f := range l.finders {
		if f.mayCross(text) {
			return true
		}
	}
	return false
}
