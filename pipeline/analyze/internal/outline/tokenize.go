package outline

import (
	"bytes"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Tokenizer reads the tokens of a text for display. Unlike a grammar, it skips nothing.
// It keeps a reference to the text.
type Tokenizer struct {
	s        scanner
	text     []byte
	keywords *wordTable // nil if the lexis contains all keywords
	// directives means that lines that begin with "#" are C preprocessor lines.
	directives bool
	markup     bool // scripts and styles may be inside
	end        int  // end of the token, if the next one is not read from there; else -1

	tag      string // the element whose tag is being read
	embedded int    // end of the text of a script or style; 0 outside
	host     *lexis
}

// NewTokenizer returns a Tokenizer at the beginning of a text. It uses a general table if
// the language has no other. It returns nil for prose and for texts of more than 2 GiB,
// which have no tokens.
func NewTokenizer(language code.Language, text []byte) *Tokenizer {
	if prose[language] || len(text) > maxTextBytes {
		return nil
	}
	t := &Tokenizer{text: text}
	g, known := grammarOf(language)
	lex := g.lex
	if !known {
		lex = plainTable()
	}
	timedOut := false
	t.s = scanner{src: text, lex: lex, rec: &recorder{src: text}, timedOut: &timedOut, holes: true}
	t.host = lex
	if table, ok := keywordTables[language]; ok {
		t.keywords = table()
	}
	switch language {
	case "C", "C++", "C#":
		t.directives = true
	case "PHP":
		t.s.pos = phpStart(text, 0)
	default:
		t.directives = lex.openers != nil && lex.openers.directives
	}
	t.markup = lex.openers != nil && lex.openers.markup
	return t
}

// Next returns the next token, or false at the end of the text. Tokens are nonempty, in
// order, and do not overlap. The text between them is blank or surrounds the source, such
// as the markup around PHP.
func (t *Tokenizer) Next() (code.Token, bool) {
	for {
		t.end = -1
		start, class, ok := t.next()
		if !ok {
			if t.embedded == 0 {
				return code.Token{}, false
			}
			t.leave()
			continue
		}
		end := t.s.pos
		if t.end >= 0 {
			end = t.end
		}
		if end > start {
			return code.Token{Class: class, Start: uint32(start), End: uint32(end)}, true
		}
	}
}

// next moves past the next token and returns its start.
func (t *Tokenizer) next() (start int, class code.TokenClass, ok bool) {
	s := &t.s
	src, classes := s.src, &s.lex.class
	for s.pos < len(src) {
		start, c := s.pos, src[s.pos]
		switch classes[c] {
		case classSpace:
			s.pos++
			continue
		case classNewline:
			s.newline = true
			s.pos++
			if len(s.heredocs) > 0 {
				start = s.pos
				s.skipHeredocs()
				return start, code.TokenString, true
			}
			continue
		case classWord:
			return start, t.word(s.scanWord()), true
		case classColumn:
			if s.columnComment(c) {
				return start, code.TokenComment, true
			}
			return start, t.word(s.scanWord()), true
		case classDigit:
			s.remember(s.scanNumber())
			return start, code.TokenNumber, true
		case classSpecial:
			return start, t.special(c), true
		}
		return start, t.punctuation(c), true
	}
	return 0, 0, false
}

// remember stores the last token that is not a comment, as (*scanner).next does.
func (s *scanner) remember(tok token) {
	tok.newline = s.newline
	s.newline = false
	s.prev = tok
}

// word returns the class of a word.
func (t *Tokenizer) word(tok token) code.TokenClass {
	t.s.remember(tok)
	if tok.kind == tokString {
		return code.TokenString
	}
	text := t.s.tokenText(tok)
	switch {
	case t.embedded > 0 && t.keywords == nil:
		if keywordTables["TypeScript"]().lookupWord(text) != wNone && t.tag == "script" {
			return code.TokenKeyword
		}
	case t.keywords != nil:
		if t.keywords.lookupWord(text) != wNone {
			return code.TokenKeyword
		}
	case tok.word != wNone && t.s.lex.words.flags[tok.word]&wordKeyword != 0:
		return code.TokenKeyword
	}
	if t.markup && t.embedded == 0 {
		t.openElement(tok)
	}
	return code.TokenIdentifier
}

// special reads a token that begins with a special byte.
func (t *Tokenizer) special(c byte) code.TokenClass {
	s := &t.s
	if c == '#' && t.directives && s.firstOnLine(s.pos) {
		s.pos++
		s.skipBlanks()
		s.directiveName()
		s.remember(token{shape: shape{kind: tokPunct, ch: '#'}, start: int32(s.pos), end: int32(s.pos)})
		return code.TokenKeyword
	}
	tok := s.lex.special(s, c)
	if tok.kind == tokNone {
		return code.TokenComment
	}
	s.remember(tok)
	switch tok.kind {
	case tokString:
		if s.templateHole {
			s.templateHole = false
			t.openTemplate()
		}
		if s.lex == rustLexis && c == '\'' && s.src[s.pos-1] != c {
			return code.TokenIdentifier // a lifetime
		}
		return code.TokenString
	case tokWord:
		return t.word(tok)
	case tokNumber:
		return code.TokenNumber
	}
	t.end = int(tok.end) // text around the source may follow
	return code.TokenOperator
}

// openTemplate records that an expression inside a template literal begins.
func (t *Tokenizer) openTemplate() {
	if len(t.s.literals) < maxLiteralDepth {
		t.s.literals = append(t.s.literals, openLiteral{bracket: '{'})
	}
}

// punctuation reads punctuation: a bracket, or a run of other bytes.
func (t *Tokenizer) punctuation(c byte) code.TokenClass {
	s := &t.s
	start := s.pos
	s.pos++
	if isBracket(c) {
		if t.bracket(c) {
			return code.TokenString
		}
	} else {
		for s.pos < len(s.src) && s.lex.class[s.src[s.pos]] == classPunct && !isBracket(s.src[s.pos]) && c != '>' {
			c = s.src[s.pos]
			s.pos++
		}
	}
	s.remember(token{shape: shape{kind: tokPunct, ch: c}, start: int32(start), end: int32(s.pos)})
	if c == '>' && t.tag != "" && t.embedded == 0 {
		t.end = s.pos
		t.enter()
	}
	return code.TokenOperator
}

func isBracket(c byte) bool {
	switch c {
	case '(', ')', '[', ']', '{', '}':
		return true
	}
	return false
}

// bracket counts the brackets of an expression inside a literal. At the end of the
// expression it continues the literal and returns true.
func (t *Tokenizer) bracket(c byte) bool {
	s := &t.s
	if len(s.literals) == 0 {
		return false
	}
	top := &s.literals[len(s.literals)-1]
	closing := byte('}')
	switch top.bracket {
	case '(':
		closing = ')'
	case '[':
		closing = ']'
	}
	switch c {
	case top.bracket:
		top.depth++
	case closing:
		if top.depth--; top.depth < 0 {
			literal := top.literalState
			s.literals = s.literals[:len(s.literals)-1]
			t.resumeLiteral(literal)
			return true
		}
	}
	return false
}

// resumeLiteral reads the text of a literal after an expression inside it.
func (t *Tokenizer) resumeLiteral(l literalState) {
	s := &t.s
	start := s.pos
	if l.in != nil {
		s.readLiteral(l)
	} else if s.scanTemplate(); s.templateHole {
		s.templateHole = false
		t.openTemplate()
	}
	s.remember(s.literalToken(start))
}

// openElement records that the tag of a script or style begins.
func (t *Tokenizer) openElement(tok token) {
	if tok.start == 0 || t.text[tok.start-1] != '<' {
		return
	}
	t.tag = ""
	switch name := t.s.tokenText(tok); {
	case bytes.EqualFold(name, []byte("script")):
		t.tag = "script"
	case bytes.EqualFold(name, []byte("style")):
		t.tag = "style"
	}
}

// enter continues with the text of a script or style.
func (t *Tokenizer) enter() {
	t.embedded = t.s.closingTag(t.tag)
	t.s.src, t.s.lex = t.text[:t.embedded], lexisOfElement(t.tag)
}

// leave returns to the markup around a script or style.
func (t *Tokenizer) leave() {
	t.s.pos = t.embedded
	t.tag, t.embedded = "", 0
	t.s.literals, t.s.heredocs = t.s.literals[:0], t.s.heredocs[:0]
	t.s.src, t.s.lex = t.text, t.host
}

func lexisOfElement(tag string) *lexis {
	if tag == "style" {
		return tablesByLanguage["CSS"]().lex
	}
	return tsLexis
}
