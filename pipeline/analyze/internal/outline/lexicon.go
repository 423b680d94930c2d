package outline

import (
	"fmt"
	"strings"
)

// lexicon is the lexical structure of a language as data: its comments, literals and
// words. compileLexis derives the byte classes of a lexis from it.
type lexicon struct {
	// letters are bytes allowed in identifiers in addition to ASCII letters, digits, "_"
	// and all bytes above ASCII.
	letters string
	// suffixes are bytes that may end an identifier, as in empty? and sort!.
	suffixes string
	// escapes means that identifiers may contain the escapes of style sheets: a backslash and
	// any character, or up to six hexadecimal digits and a blank.
	escapes bool
	// fold means that keywords are case-insensitive.
	fold bool
	// keywords are the reserved words, separated by blanks. They are never names.
	keywords string
	// soft are words that are keywords in some contexts and names in others.
	soft     string
	comments []comment
	strings  []quote
	// heredocs means that <<NAME begins a text that ends at a line with that name. sigils
	// means that ~x( … ) is a literal, with any letter and bracket. directives means that
	// lines that begin with # are C preprocessor lines.
	heredocs, sigils, directives bool
	// slashes means that /…/ is a literal where a value may begin.
	slashes bool
	// markup means that elements named script and style contain source in other
	// languages.
	markup bool
	// quoteWords are words that precede the delimiter of a literal: q in q{ … }.
	quoteWords string
}

// comment is a form of comment. Without close, it ends at the end of its line.
type comment struct {
	open, close string
	// nested means that comments of this form may nest.
	nested bool
	// first means that only blanks may precede the comment on its line.
	first bool
	// column is the 1-based column in which the comment must begin; 0 for any.
	column int
	// apart means that a blank, a bracket or a separator must precede the comment.
	apart bool
	// directive means that a comment with one of the words ifdef, ifndef, else, elsif and
	// endif after open is a directive of a conditional.
	directive bool
	// ends means that the comment ends the statement before it, if it is at the top level.
	ends bool
}

// quote is a form of literal.
type quote struct {
	open, close string
	// prefix is a word directly before open: r in r"…".
	prefix string
	// escape is the byte that escapes the next one; 0 for none.
	escape byte
	// doubled means that two closing quotes stand for one.
	doubled bool
	// multiline literals may contain line breaks; others end at one.
	multiline bool
	// hole begins an expression inside the literal, which extends to the bracket that
	// matches the last byte of hole: "${" or "\(".
	hole string
	// char means that the literal is one character or escape. Anything else is
	// punctuation, such as the mark of a type variable.
	char bool
	// apart means that no name, number or closing bracket may directly precede the
	// literal. Otherwise it is punctuation, such as a transposition.
	apart bool
	// fence is a byte that may be repeated before open and must then follow close equally
	// often: # in #"…"#. With fenceInside, it is inside open: [==[ … ]==].
	fence       byte
	fenceInside bool
	// tag means that a name and a second open follow open, as in $tag$ … $tag$.
	tag bool
}

// maxLiteralDepth bounds the nesting of expressions inside literals.
const maxLiteralDepth = 32

// opener is a comment or literal that may begin with some byte.
type opener struct {
	comment *comment
	quote   *quote
	stop    *[256]bool // bytes that need attention inside a literal
	raw     *opener    // the form with a fence, which has neither escapes nor holes
}

// openers are the comments and literals that begin with each byte, longest first.
type openers struct {
	by       [256][]opener
	prefixed []opener
	quoted   [256]bool // bytes that may follow a prefix

	heredocs, sigils, directives, markup, slashes bool
}

// compileLexis returns the lexis of the table and the numbers of the additional words
// that rules use.
func (l *lexicon) compileLexis(words []string) *lexis {
	t := &wordTable{}
	number := word(0)
	add := func(list []string, flag wordFlag) {
		for _, text := range list {
			if l.fold {
				text = strings.ToLower(text)
			}
			if len(text) < 2 || len(text) > maxFoldedWord {
				panic(fmt.Sprintf("outline: the word %q of a table has not 2 to %d bytes", text, maxFoldedWord))
			}
			if w := t.lookupWord([]byte(text)); w != wNone {
				t.flags[w] |= flag
				continue
			}
			if number++; number == 255 {
				panic("outline: a table has more than 254 words")
			}
			t.insert(text, number)
			t.flags[number] = flag
		}
	}
	add(strings.Fields(l.keywords), wordReserved|wordKeyword)
	add(strings.Fields(l.soft), wordKeyword)
	add(words, 0)
	t.fold = l.fold

	o := &openers{}
	specials := ""
	columns := ""
	put := func(c byte, in opener) {
		if isLetter(c) {
			columns += string(rune(c))
			o.by[c] = append(o.by[c], in)
			return
		}
		list := o.by[c]
		at := len(list)
		for at > 0 && len(list[at-1].openText()) < len(in.openText()) {
			at--
		}
		o.by[c] = append(list[:at:at], append([]opener{in}, list[at:]...)...)
		specials += string(rune(c))
	}
	for i := range l.comments {
		c := &l.comments[i]
		put(c.open[0], opener{comment: c})
		if l.fold && c.open[0] >= 'a' && c.open[0] <= 'z' {
			put(c.open[0]-'a'+'A', opener{comment: c})
		}
	}
	for i := range l.strings {
		q := &l.strings[i]
		in := opener{quote: q, stop: q.stopBytes()}
		if q.fence != 0 {
			raw := *q
			raw.escape, raw.hole = 0, ""
			in.raw = &opener{quote: &raw, stop: raw.stopBytes()}
		}
		switch {
		case q.prefix != "":
			o.prefixed = append(o.prefixed, in)
			o.quoted[q.open[0]] = true
		case q.fence != 0 && !q.fenceInside:
			put(q.fence, in)
			fallthrough
		default:
			put(q.open[0], in)
		}
	}
	if l.heredocs {
		specials += "<"
	}
	if l.sigils {
		specials += "~"
	}
	if l.slashes {
		specials += "/"
	}
	if l.directives {
		specials += "#"
	}
	letters := l.letters
	if l.escapes {
		letters += `\`
	}
	lex := newLexis(letters, specials, t, nil)
	for _, w := range strings.Fields(l.quoteWords) {
		if lex.quoteWords == nil {
			lex.quoteWords = map[string]bool{}
		}
		lex.quoteWords[w] = true
	}
	for _, c := range []byte(l.suffixes) {
		lex.suffix[c] = true
	}
	for _, c := range []byte(columns) {
		lex.class[c] = classColumn
	}
	lex.irregularWords = l.fold || l.suffixes != "" || l.quoteWords != "" || l.escapes
	lex.escapes = l.escapes
	lex.openers = o
	o.heredocs, o.sigils, o.directives, o.markup, o.slashes = l.heredocs, l.sigils, l.directives, l.markup, l.slashes
	lex.special = func(s *scanner, c byte) token { return s.scanOpener(o, c) }
	return lex
}

func (o *opener) openText() string {
	if o.comment != nil {
		return o.comment.open
	}
	return o.quote.open
}

func (q *quote) stopBytes() *[256]bool {
	stop := &[256]bool{}
	if q.close == "" {
		return stop
	}
	stop[q.close[0]] = true
	if q.escape != 0 {
		stop[q.escape] = true
	}
	if q.hole != "" {
		stop[q.hole[0]] = true
	}
	if !q.multiline {
		stop['\n'] = true
	}
	return stop
}

// Forms that several languages share.
var (
	slashSlash = comment{open: "//"}
	slashStar  = comment{open: "/*", close: "*/"}
	nestedStar = comment{open: "/*", close: "*/", nested: true}
	hash       = comment{open: "#"}
	dashDash   = comment{open: "--"}
	semicolon  = comment{open: ";"}
	percent    = comment{open: "%"}

	doubleQuoted  = quote{open: `"`, close: `"`, escape: '\\'}
	singleQuoted  = quote{open: "'", close: "'", escape: '\\'}
	charQuoted    = quote{open: "'", close: "'", escape: '\\', char: true}
	doubledDouble = quote{open: `"`, close: `"`, doubled: true}
	doubledSingle = quote{open: "'", close: "'", doubled: true}
	longDouble    = quote{open: `"`, close: `"`, escape: '\\', multiline: true}
	longSingle    = quote{open: "'", close: "'", escape: '\\', multiline: true}
)
