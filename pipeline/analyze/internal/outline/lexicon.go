package outline

import (
	"fmt"
	"strings"
)

// lexicon is the lexis of a language as a table: what its comments, literals and
// words look like. compile makes the byte classes of a lexis of it.
type lexicon struct {
	// letters are bytes that identifiers may have in addition to ASCII letters,
	// digits, "_" and everything above ASCII.
	letters string
	// suffixes are bytes that may end an identifier: empty? and sort!.
	suffixes string
	// escapes says that identifiers may have the escapes of style sheets: a backslash and any
	// character, or up to six hexadecimal digits and a blank.
	escapes bool
	// fold says that keywords are written in any case.
	fold bool
	// keywords are the reserved words, which are never names, separated by blanks.
	keywords string
	// soft are words that are keywords in some places and names in others.
	soft     string
	comments []comment
	strings  []quote
	// heredocs says that <<NAME begins a text that ends at a line with that name;
	// sigils that ~x( … ) is a literal, with any letter and bracket; directives that
	// lines that begin with # are those of C's preprocessor.
	heredocs, sigils, directives bool
	// slashes says that /…/ is a literal where a value may begin.
	slashes bool
	// markup says that elements named script and style hold source of other languages.
	markup bool
	// quoteWords are words that precede the delimiter of a literal: q in q{ … }.
	quoteWords string
}

// comment is a form of comments. Without close it ends with its line.
type comment struct {
	open, close string
	// nested says that comments of this form may hold one another.
	nested bool
	// first says that only blanks may precede it on its line.
	first bool
	// column is where it has to begin, counted from 1; 0 for anywhere.
	column int
	// apart says that a blank, a bracket or a separator precedes it.
	apart bool
}

// quote is a form of literals.
type quote struct {
	open, close string
	// prefix is a word directly before open: r in r"…".
	prefix string
	// escape is the byte that takes the meaning of the next one; 0 for none.
	escape byte
	// doubled says that two closing quotes mean one.
	doubled bool
	// multiline literals may hold line breaks; others end at one.
	multiline bool
	// hole begins an expression inside of the literal, up to the bracket that closes
	// the one with which hole ends: "${" or "\(".
	hole string
	// char says that it is one character or escape; anything else is punctuation, such
	// as the mark of a type variable.
	char bool
	// apart says that no name, number or closing bracket directly precedes it:
	// otherwise it is punctuation, such as a transposition.
	apart bool
	// fence is a byte that may be repeated before open and then follows close as
	// often: # in #"…"#. With fenceInside it is inside of open: [==[ … ]==].
	fence       byte
	fenceInside bool
	// tag says that open is followed by a name and open again, as in $tag$ … $tag$.
	tag bool
}

// maxHoles bounds how deep expressions inside of literals are followed.
const maxLiteralDepth = 32

// opener is a comment or a literal that may begin with some byte.
type opener struct {
	comment *comment
	quote   *quote
	stop    *[256]bool // bytes that matter inside of a literal
	raw     *opener    // the form with a fence, which has neither escapes nor holes
}

// openers are the forms that begin with each byte, longer ones first.
type openers struct {
	by       [256][]opener
	prefixed []opener
	quoted   [256]bool // bytes that may follow a prefix

	heredocs, sigils, directives, markup, slashes bool
}

// compileLexis returns the lexis of the table and the numbers of further words, which
// rules look for.
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

// Forms that many languages share.
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
