package outline

import (
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// table is a language as data: how its text is divided into tokens, statements and
// blocks, and which statements define something. docs/adding-a-language.md explains
// how to write one.
type table struct {
	// languages are the go-enry names of the languages, separated by commas.
	languages string
	lexicon

	blocks blockForm
	// opens and closes are the words of blockWords, separated by blanks. "^if" opens a
	// block only at the beginning of a statement. "endif=if" closes the innermost block
	// that if has opened, and those inside it.
	opens, closes string
	// endNames means that a closing word does not close a block if the next word is
	// neither a name nor a word of opens. "=type" in opens declares such a word that opens
	// no block itself, because a rule does.
	endNames bool
	// labels means that ":" and a name may follow the terminator of a statement.
	labels bool
	// selectors means that a long statement that begins with "." or "#" may end at a comma:
	// it is a list of selectors, which can have any length.
	selectors bool
	// attributes are words that form a label: a statement that ends with a colon and consists
	// only of these words, names after "@" and groups, such as "public:" or "extern (C):".
	attributes string
	// terminators are words that end a statement.
	terminators string
	// newlines means that a statement ends with its line, unless the line ends with a
	// byte of trailing or the next line begins with a word or byte of continues.
	newlines            bool
	trailing, continues string
	// resumes reports whether the statement continues with the token that begins a line in
	// further cases.
	resumes func(p *tableParser, t token) bool
	// joins is a byte of trailing or continues that is no part of the statement. continued
	// is the 1-based column of the byte that begins a continuation line; 0 for none.
	joins     string
	continued int32
	// separators are bytes that end a statement; ";" if empty.
	separators string
	// flat are brackets whose content is part of the statement, such as "([".
	flat string
	// angles means that type arguments in angle brackets are groups.
	angles bool
	// quotes are bytes that may enclose names: `name`.
	quotes string
	// starts are bytes that begin a statement at the beginning of a line.
	starts string
	// path are the bytes that join names; "." if empty.
	path string
	// notAfter are bytes after which a keyword is a name; ".@" if empty.
	notAfter string
	// textMarks are bytes at the end of a line after which deeper lines are text.
	textMarks string
	// lineStart are bytes with which every relevant line begins; empty for all lines.
	lineStart string
	// keyColon means that a word directly followed by a colon is a key.
	keyColon bool
	// offside means that deeper lines after a line that ends in ":" or "=" are a block, too.
	offside bool
	// descend enters blocks that no rule begins; otherwise they are skipped.
	descend bool
	// locals records definitions inside functions.
	locals bool

	// rules are tried in their order.
	rules []rule
	// functions is the kind of the definition "TYPE NAME(…) {", and variables that of
	// "TYPE NAME;" and "TYPE NAME = …;". If empty, these define nothing.
	functions, variables code.SymbolKind
	// prototypes means that "TYPE NAME(…);" also defines a function.
	prototypes bool
	// untyped means that a function needs no type before its name.
	untyped bool

	// maxDepth bounds the depth to which blocks are entered; 0 means maxScopes.
	maxDepth int

	// nested finds definitions inside bodies that are skipped: see lexis.
	nested func(s *scanner, brace int) int

	// read finds the definitions of a statement that rules cannot express. end is the
	// byte that ended the statement.
	read func(p *tableParser, end byte)
	// run replaces the table parser for languages that rules cannot express.
	run func(s scanner)
}

// rule defines the symbol of a statement that matches a pattern.
type rule struct {
	match string
	kind  code.SymbolKind
	// in are the kinds of blocks in which the rule applies, separated by blanks: symbol
	// kinds, "file" for the top level outside of flat brackets, "type" for all kinds with
	// members; empty for all.
	in   string
	body body
	// items is the kind of the names that the body lists.
	items code.SymbolKind
	// owner is the kind of the parent in a name like Parent.name; "class" if empty.
	owner code.SymbolKind
	// column is the 1-based column in which the statement must begin; 0 for any.
	column int32
	// opens means that the definition begins a block, if only some uses of its keyword
	// do.
	opens bool
	// once records a name only the first time if several consecutive statements define
	// it, such as the clauses of a function.
	once bool
	// again gives the definition the kind of the previous one, as "and" does.
	again bool
	// until is the word at the beginning of the line that ends a text which is not
	// source.
	until string
	// fields are words before the names of members in the groups after the name: class
	// Point(val x: Int). "val=constant" gives their kind, which is property otherwise, and
	// "*=constant" at the end makes all parameters of the first group members.
	fields string
	// imports are words before the name of a module. A definition "NAME = VALUE" whose value
	// begins with one of them, or is a name itself, imports what exists and is not recorded.
	imports string
	// level is the level of a section, which ends sections of its level and below. With
	// levels, it is the number of equal bytes at the beginning of the statement.
	level  int
	levels bool
}

// blockForm is the form of the blocks that enclose definitions.
type blockForm uint8

const (
	blockBraces blockForm = iota // { … }
	blockWords                   // begin … end
	blockIndent                  // deeper lines
	blockLists                   // ( … ), each of which is a statement
	blockNone                    // nothing: only sections are parents of definitions
)

// body determines how the block of a definition is handled.
type body uint8

const (
	bodyAuto    body = iota // by the kind: types and modules are entered
	bodyEnter               // definitions inside are recorded
	bodySkip                // the block is skipped
	bodyNone                // there is no block
	bodyItems               // a list of names
	bodySection             // up to the next section
	bodyPlain               // the statement opens nothing, whatever words it contains
)

// typeKinds are the kinds whose functions are methods.
var typeKinds = kindSet("class struct interface trait object enum union protocol extension implementation mixin contract record actor annotation type category service")

// moduleKinds are the kinds that enclose definitions without making them members.
var moduleKinds = kindSet("module namespace package library program unit architecture entity instance template functor signature macroDefinition")

// valueKinds are the kinds that are ignored inside a function's body.
var valueKinds = kindSet("variable constant property field member signal port parameter label enumerator attribute key register net")

// ownerNone is the owner of names whose parent is not a definition.
const ownerNone = "-"

func kindSet(words string) map[code.SymbolKind]bool {
	set := map[code.SymbolKind]bool{}
	for _, w := range strings.Fields(words) {
		set[code.SymbolKind(w)] = true
	}
	return set
}

// compiledTable is a table in the form that the parser uses.
type compiledTable struct {
	*table
	lex      *lexis
	columns  bool // the columns of statements matter
	byWord   [256][]*compiledRule
	anchored []*compiledRule
	// noAnchor marks the reserved words that begin no statement which an anchored rule
	// matches.
	noAnchor  [256]bool
	closed    [256]word // the word whose block a closing word ends; wNone for any word
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
	holder  bool // definitions of its kind enclose others: see typeKinds, moduleKinds
	value   bool // see valueKinds
	fields  []headField
	imports []word
}

// compileTable compiles a table. It panics on an invalid table.
func compileTable(t *table) *compiledTable {
	c := &compiledTable{table: t, columns: t.blocks == blockIndent || t.offside}
	var words []string
	for _, r := range t.rules {
		words = append(words, patternWords(r.match)...)
		for _, f := range strings.Fields(r.fields) {
			if name, _, _ := strings.Cut(f, "="); name != "*" {
				words = append(words, name)
			}
		}
		words = append(words, strings.Fields(r.imports)...)
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
	c.lex = t.compileLexis(words).withNested(t.nested, maxScopes)
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
		r.holder, r.value = typeKinds[r.kind] || moduleKinds[r.kind], valueKinds[r.kind]
		r.in, r.inFile = compileIn(r.rule.in)
		c.columns = c.columns || r.column > 0
		for _, f := range strings.Fields(r.rule.fields) {
			name, kind, ok := strings.Cut(f, "=")
			if !ok {
				kind = "property"
			}
			r.fields = append(r.fields, headField{table.lookupWord([]byte(name)), code.SymbolKind(kind)})
		}
		for _, w := range strings.Fields(r.rule.imports) {
			r.imports = append(r.imports, table.lookupWord([]byte(w)))
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
	c.markAnchors()
	return c
}

// markAnchors sets noAnchor, unless an anchored rule may begin with any token.
func (c *compiledTable) markAnchors() {
	var begins [256]bool
	for _, r := range c.anchored {
		for _, e := range r.pattern {
			switch e.op {
			case opStart:
				continue
			case opWord, opSelf:
				for _, w := range e.words {
					begins[w] = true
				}
			case opName, opNames, opTargets, opLast, opPath, opText, opRun:
			default:
				return
			}
			if !e.optional {
				break
			}
		}
	}
	for w, flag := range c.lex.words.flags {
		c.noAnchor[w] = flag&wordReserved != 0 && !begins[w]
	}
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
