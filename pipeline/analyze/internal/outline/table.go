package outline

import (
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// table is a language as data: how its text is divided into tokens, statements and
// blocks, and which statements define something. docs/adding-a-language.md explains
// how to write one.
type table struct {
	// languages are its names as go-enry has them, separated by commas.
	languages string
	lexicon

	blocks blockForm
	// opens and closes are the words of blockWords, separated by blanks. "^if" opens a
	// block only at the beginning of a statement. "endif=if" closes the innermost block
	// that if has opened, and those inside of it.
	opens, closes string
	// endNames says that a closing word followed by a word of opens or by a name closes,
	// and followed by any other word does not. "=type" in opens is such a word that opens
	// no block itself: a rule does.
	endNames bool
	// labels says that ":" and a name may follow what terminates a statement.
	labels bool
	// selectors says that a statement which begins with "." or "#" may end at a comma once it
	// is long: a list of selectors, which has no bound.
	selectors bool
	// attributes are words of which, with names after "@" and groups, a statement consists
	// that a colon ends: "public:", "extern (C):".
	attributes string
	// terminators are words that end a statement.
	terminators string
	// newlines says that a statement ends with its line, unless the line ends with one
	// of the bytes of trailing or the next one begins with a word or byte of continues.
	newlines            bool
	trailing, continues string
	// separators are bytes that end a statement; ";" if empty.
	separators string
	// flat are brackets whose content belongs to the statement: "([" for instance.
	flat string
	// angles says that type arguments in angle brackets are groups.
	angles bool
	// quotes are bytes that may enclose names: `name`.
	quotes string
	// starts are bytes that begin a statement where they begin a line.
	starts string
	// path are the bytes that join names; "." if empty.
	path string
	// notAfter are bytes after which a keyword is a name; ".@" if empty.
	notAfter string
	// textMarks are bytes at the end of a line after which deeper lines are text.
	textMarks string
	// lineStart are bytes of which one begins every line that matters; empty for all.
	lineStart string
	// keyColon says that a word directly followed by a colon is a key.
	keyColon bool
	// descend enters blocks that no rule has begun; they are skipped otherwise.
	descend bool
	// locals records definitions inside of functions.
	locals bool

	// rules are tried in their order.
	rules []rule
	// functions is the kind of what "TYPE NAME(…) {" defines, variables that of
	// "TYPE NAME;" and "TYPE NAME = …;". Empty: nothing.
	functions, variables code.SymbolKind
	// prototypes says that "TYPE NAME(…);" counts as well.
	prototypes bool
	// untyped says that a function needs no type before its name.
	untyped bool

	// maxDepth bounds how deep blocks are entered; 0 for maxScopes.
	maxDepth int

	// read finds what a statement defines, where rules cannot say it. It is given what
	// ended the statement.
	read func(p *tableParser, end byte)
	// run reads a text instead, where rules cannot say what it defines.
	run func(s scanner)
}

// rule says what a statement defines that matches a pattern.
type rule struct {
	match string
	kind  code.SymbolKind
	// in are the kinds of blocks in which the rule holds, separated by blanks: kinds,
	// "file" for the top level, "type" for all that have members; empty for all.
	in   string
	body body
	// items is the kind of the names that the body lists.
	items code.SymbolKind
	// owner is the kind of the parent in a name like Parent.name; "class" if empty.
	owner code.SymbolKind
	// column is the one that the statement begins in, counted from 1; 0 for any.
	column int32
	// opens says that the definition begins a block, where only some uses of its
	// keyword do.
	opens bool
	// once records a name that several statements in a row define, such as the clauses
	// of a function, only the first time.
	once bool
	// again gives the definition the kind of the one before, as "and" does.
	again bool
	// until is the word that begins the line at which a text ends that is no source.
	until string
	// fields are words that precede the names of properties in the group after the
	// name: class Point(val x: Int).
	fields string
	// level is that of a section: it ends those of its level and above. With levels it
	// is the number of equal bytes with which the statement begins.
	level  int
	levels bool
}

// blockForm says what encloses the definitions of a block.
type blockForm uint8

const (
	blockBraces blockForm = iota // { … }
	blockWords                   // begin … end
	blockIndent                  // deeper lines
	blockLists                   // ( … ), each a statement
	blockNone                    // nothing: definitions have no parents but sections
)

// body says what is done with the block of a definition.
type body uint8

const (
	bodyAuto    body = iota // by the kind: types and modules are entered
	bodyEnter               // definitions inside count
	bodySkip                // nothing inside is looked at
	bodyNone                // there is none
	bodyItems               // a list of names
	bodySection             // up to the next section
	bodyPlain               // the statement opens nothing, whatever words it has
)

// typeKinds are the kinds whose functions are methods.
var typeKinds = kindSet("class struct interface trait object enum union protocol extension implementation mixin contract record actor annotation type category service")

// moduleKinds are the kinds that enclose definitions without making them members.
var moduleKinds = kindSet("module namespace package library program unit architecture entity instance template functor signature macroDefinition")

// valueKinds are the kinds that are ignored inside a function's body.
var valueKinds = kindSet("variable constant property field member signal port parameter label enumerator attribute key register net")

// ownerNone is the owner of names whose parent is no definition.
const ownerNone = "-"

func kindSet(words string) map[code.SymbolKind]bool {
	set := map[code.SymbolKind]bool{}
	for _, w := range strings.Fields(words) {
		set[code.SymbolKind(w)] = true
	}
	return set
}

// compiledTable is a table made ready to be used.
type compiledTable struct {
	*table
	lex       *lexis
	columns   bool // the columns of statements matter
	byWord    [256][]*compiledRule
	anchored  []*compiledRule
	closed    [256]word // the word whose block a closing word ends; wNone for any
	separator [256]bool
	trail     [256]bool
	goesOn    [256]bool
	flatOpen  [256]bool
	notHead   [256]bool
	textMark  [256]bool
	start     [256]bool
	lineFirst [256]bool
	attribute [256]bool // by word
}

type compiledRule struct {
	*rule
	pattern pattern
	in      map[code.SymbolKind]bool
	inFile  bool
	fields  []word
}

// compileTable makes a table ready. It panics for a mistake in the table.
func compileTable(t *table) *compiledTable {
	c := &compiledTable{table: t, columns: t.blocks == blockIndent}
	var words []string
	for _, r := range t.rules {
		words = append(append(words, patternWords(r.match)...), strings.Fields(r.fields)...)
	}
	opens, closes, continues := strings.Fields(t.opens), strings.Fields(t.closes), strings.Fields(t.continues)
	for _, w := range opens {
		words = append(words, strings.TrimLeft(w, "^="))
	}
	for _, w := range closes {
		closing, opening, _ := strings.Cut(w, "=")
		if words = append(words, closing); opening != "" {
			words = append(words, opening)
		}
	}
	for _, w := range continues {
		if isWordText(w) {
			words = append(words, w)
		}
	}
	words = append(append(words, strings.Fields(t.terminators)...), strings.Fields(t.attributes)...)
	c.lex = t.compileLexis(words)
	table := c.lex.words
	for _, w := range opens {
		flag := wordOpens
		switch w[0] {
		case '^':
			flag = wordOpensFirst
		case '=':
			flag = wordBlock
		}
		table.flags[table.lookupWord([]byte(strings.TrimLeft(w, "^=")))] |= flag
	}
	for _, w := range closes {
		closing, opening, _ := strings.Cut(w, "=")
		n := table.lookupWord([]byte(closing))
		table.flags[n] |= wordCloses
		c.closed[n] = table.lookupWord([]byte(opening))
	}
	for _, w := range continues {
		if isWordText(w) {
			table.flags[table.lookupWord([]byte(w))] |= wordContinues
		} else {
			c.goesOn[w[0]] = true
		}
	}
	for _, w := range strings.Fields(t.terminators) {
		table.flags[table.lookupWord([]byte(w))] |= wordEnds
	}
	for _, w := range strings.Fields(t.attributes) {
		c.attribute[table.lookupWord([]byte(w))] = true
	}
	markBytes(&c.separator, t.separators, ";")
	markBytes(&c.trail, t.trailing, "")
	markBytes(&c.flatOpen, t.flat, "")
	markBytes(&c.notHead, t.notAfter, ".@")
	markBytes(&c.textMark, t.textMarks, "")
	markBytes(&c.start, t.starts, "")
	markBytes(&c.lineFirst, t.lineStart, "")
	if t.path == "" {
		t.path = "."
	}
	for i := range t.rules {
		r := &compiledRule{rule: &t.rules[i], pattern: compilePattern(t.rules[i].match, table)}
		r.in, r.inFile = compileIn(r.rule.in)
		c.columns = c.columns || r.column > 0
		for _, w := range strings.Fields(r.rule.fields) {
			r.fields = append(r.fields, table.lookupWord([]byte(w)))
		}
		heads := r.pattern.headWords()
		for _, w := range heads {
			table.flags[w] |= wordHead
			c.byWord[w] = append(c.byWord[w], r)
		}
		if heads == nil {
			c.anchored = append(c.anchored, r)
		}
	}
	return c
}

func markBytes(set *[256]bool, bytes, otherwise string) {
	if bytes == "" {
		bytes = otherwise
	}
	for i := range len(bytes) {
		set[bytes[i]] = true
	}
}

func compileIn(in string) (kinds map[code.SymbolKind]bool, file bool) {
	if in == "" {
		return nil, true
	}
	kinds = map[code.SymbolKind]bool{}
	for _, w := range strings.Fields(in) {
		switch w {
		case "file":
			file = true
			for k := range moduleKinds {
				kinds[k] = true
			}
		case "type":
			for k := range typeKinds {
				kinds[k] = true
			}
		default:
			kinds[code.SymbolKind(w)] = true
		}
	}
	return kinds, file
}
