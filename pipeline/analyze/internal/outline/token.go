package outline

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokNone   tokenKind = iota // no token: a comment or other trivia was skipped
	tokEOF                     // end of the text
	tokWord                    // identifier or keyword
	tokNumber                  // numeric literal
	tokString                  // string, character, template or regular-expression literal
	tokPunct                   // one byte of punctuation, in ch
	tokGroup                   // a whole bracketed group; ch is its opening bracket
	tokBody                    // a type body that was just closed
)

// token is a lexical element. It refers to the text by offsets, so it is small and
// contains no pointers.
type token struct {
	shape
	start, end int32
}

// shape is a token without its position. It is a separate struct so that neither struct
// has more than four fields: the compiler keeps such values in registers, which doubled
// the speed for JavaScript.
type shape struct {
	kind    tokenKind
	ch      byte // punctuation or opening bracket
	word    word // keyword, or wNone
	newline bool // a line break precedes it
}

func (t token) isPunct(ch byte) bool { return t.kind == tokPunct && t.ch == ch }
func (t token) isGroup(ch byte) bool { return t.kind == tokGroup && t.ch == ch }

// isName reports whether t is an identifier that is not a keyword of the language.
func (t token) isName() bool { return t.kind == tokWord && t.word == wNone }

// span is a range of the text.
type span struct{ start, end int32 }

func (t token) toSpan() span { return span{t.start, t.end} }

func (s span) isEmpty() bool { return s.start == s.end }
