package analyze

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	enry "github.com/go-enry/go-enry/v2"

	"github.com/quarrysearch/quarry/schemas/code"
)

// AttributesName is the name of the files in which a repository classifies its files.
const AttributesName = ".gitattributes"

// Bounds of attributes. The owner of a repository controls every byte of them.
const (
	// MaxAttributesBytes bounds one file. A larger file has no effect.
	MaxAttributesBytes = 1 << 20
	// maxAttributeRules bounds the lines of one file that classify files. A file with
	// more has no effect.
	maxAttributeRules = 4096
	// maxAttributeLine is git's bound on a line. Longer lines have no effect.
	maxAttributeLine = 2048
	// maxMatchSteps bounds the work to classify one path, to about a millisecond. The
	// patterns that are left then, those farthest from the file, do not match.
	maxMatchSteps = 1 << 18
)

// errAttributes means that a file of attributes exceeds a bound.
var errAttributes = errors.New("too many attributes")

// Ruling is what attributes say about a trait of a file.
type Ruling int8

// The values of a Ruling.
const (
	Unruled Ruling = 0
	Yes     Ruling = 1
	No      Ruling = -1
)

// Override is what attributes say about a file: the language that its text is read as,
// if any, and its traits.
type Override struct {
	Language                           code.Language
	Generated, Vendored, Documentation Ruling
}

// Apply returns the flags of a place with the override.
func (o Override) Apply(flags code.Flags) code.Flags {
	flags = o.Generated.apply(flags, code.FlagGenerated)
	flags = o.Vendored.apply(flags, code.FlagVendored)
	switch o.Documentation {
	case Yes:
		flags |= code.FlagDocumentation
	case No:
		flags |= code.FlagNoDocumentation
	}
	return flags
}

func (r Ruling) apply(flags, flag code.Flags) code.Flags {
	switch r {
	case Yes:
		return flags | flag
	case No:
		return flags &^ flag
	}
	return flags
}

// AttributesFile contains the lines of one file that classify files, by themselves or
// through a macro.
type AttributesFile struct {
	rules []attributeRule
	// macros contains the definitions of macros. They count in the root only.
	macros map[string][]attributeRuling
}

// attributeRule is one line: a pattern, and what it says, from left to right.
type attributeRule struct {
	pattern pathPattern
	rulings []attributeRuling
}

// attributeRuling is what a line says about one attribute. A negated attribute with an
// exclamation mark is Unruled, and hides what other lines say.
type attributeRuling struct {
	// attribute is otherAttribute if only name says which one it is.
	attribute linguistAttribute
	name      string
	// set is true for an attribute without a sign or a value. A macro that is set stands
	// for the attributes in its definition.
	set      bool
	ruling   Ruling
	language code.Language
}

// linguistAttribute is an attribute that classifies files.
type linguistAttribute int

const (
	attributeLanguage linguistAttribute = iota
	attributeGenerated
	attributeVendored
	attributeDocumentation
	linguistAttributes // their number

	otherAttribute = linguistAttributes
)

var linguistAttributeOf = map[string]linguistAttribute{
	"linguist-language": attributeLanguage, "linguist-generated": attributeGenerated,
	"linguist-vendored": attributeVendored, "linguist-documentation": attributeDocumentation,
}

// ownAttributes are the attributes that git itself uses. They are not looked up as macros,
// so that files of attributes that say nothing else are not kept.
var ownAttributes = map[string]bool{
	"text": true, "eol": true, "crlf": true, "working-tree-encoding": true, "ident": true, "filter": true, "diff": true, "merge": true,
	"whitespace": true, "export-ignore": true, "export-subst": true, "delta": true, "encoding": true, "conflict-marker-size": true, "binary": true,
}

const macroPrefix = "[attr]"

// ParseAttributes parses a file of attributes as git does. It returns nil if no line can
// classify files. Lines that git ignores are ignored. Which attributes are macros is known
// only together with the file of the root.
func ParseAttributes(content []byte) (*AttributesFile, error) {
	if len(content) > MaxAttributesBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", errAttributes, MaxAttributesBytes)
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if nul := bytes.IndexByte(content, 0); nul >= 0 {
		content = content[:nul] // where git stops
	}
	var f AttributesFile
	lines := 0
	for line := range bytes.Lines(content) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if len(line) >= maxAttributeLine {
			continue
		}
		pattern, rulings, ok := parseAttributeLine(string(line))
		if !ok {
			continue
		}
		name, isMacro := macroName(pattern)
		rule := attributeRule{rulings: rulings}
		if !isMacro {
			if rule.pattern, ok = compilePattern(pattern); !ok {
				continue
			}
		}
		if lines++; lines > maxAttributeRules {
			return nil, fmt.Errorf("%w: more than %d lines", errAttributes, maxAttributeRules)
		}
		if !isMacro {
			f.rules = append(f.rules, rule)
			continue
		}
		if f.macros == nil {
			f.macros = make(map[string][]attributeRuling)
		}
		f.macros[name] = rulings // the last definition counts
	}
	if len(f.rules)+len(f.macros) == 0 {
		return nil, nil
	}
	return &f, nil
}

const attributeBlanks = " \t\r"

// parseAttributeLine parses "PATTERN ATTRIBUTE…". ok is false if the line classifies
// nothing. One invalid attribute invalidates its line, as in git.
func parseAttributeLine(line string) (pattern string, rulings []attributeRuling, ok bool) {
	line = strings.TrimLeft(line, attributeBlanks)
	if line == "" || line[0] == '#' {
		return "", nil, false
	}
	pattern, rest, quoted := unquotePattern(line)
	if !quoted {
		end := strings.IndexAny(line, attributeBlanks)
		if end < 0 {
			end = len(line)
		}
		pattern, rest = line[:end], line[end:]
	}
	name, isMacro := macroName(pattern)
	if isMacro && !isAttributeName(name) {
		return "", nil, false
	}
	for field := range strings.FieldsFuncSeq(rest, func(c rune) bool { return strings.ContainsRune(attributeBlanks, c) }) {
		name, value, hasValue := strings.Cut(field, "=")
		sign := byte(0)
		if name != "" && (name[0] == '-' || name[0] == '!') {
			sign, name = name[0], name[1:]
		}
		if !isAttributeName(name) {
			return "", nil, false
		}
		if !ownAttributes[name] {
			rulings = append(rulings, newAttributeRuling(name, sign, value, hasValue))
		}
	}
	return pattern, rulings, isMacro || len(rulings) > 0
}

// macroName returns the name of the macro that a line with this pattern defines. ok is
// false if it defines none.
func macroName(pattern string) (name string, ok bool) {
	name, ok = strings.CutPrefix(pattern, macroPrefix)
	if !ok || name == "" {
		return "", false
	}
	name = strings.TrimLeft(name, attributeBlanks)
	if end := strings.IndexAny(name, attributeBlanks); end >= 0 {
		name = name[:end]
	}
	return name, true
}

func newAttributeRuling(name string, sign byte, value string, hasValue bool) attributeRuling {
	attribute, known := linguistAttributeOf[name]
	if !known {
		attribute = otherAttribute
	}
	out := attributeRuling{attribute: attribute, name: name, set: sign == 0 && !hasValue}
	if sign == '!' || !known {
		return out
	}
	if attribute == attributeLanguage {
		if sign == 0 && hasValue {
			out.language = languageOfAlias(value)
		}
		return out
	}
	if out.ruling = Yes; sign == '-' || value == "false" {
		out.ruling = No
	}
	return out
}

// languageOfAlias returns the language with a name or alias of github-linguist; empty if
// there is none. A dash may replace a blank, which an attribute cannot contain.
func languageOfAlias(alias string) code.Language {
	for _, name := range []string{alias, strings.ReplaceAll(alias, "-", " ")} {
		if l, ok := enry.GetLanguageByAlias(name); ok {
			return code.Language(l)
		}
	}
	return ""
}

// isAttributeName reports whether git accepts the name of an attribute.
func isAttributeName(name string) bool {
	if name == "" || name[0] == '-' || strings.HasPrefix(name, "builtin_") {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c != '-' && c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// quotedBytes are the bytes that a letter after a backslash stands for in quotes.
var quotedBytes = map[byte]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\', '"': '"'}

// unquotePattern splits a line that begins with a quoted pattern. ok is false if it does
// not, or if the quoting is invalid, which makes the quote a part of the pattern.
func unquotePattern(line string) (pattern, rest string, ok bool) {
	if line[0] != '"' {
		return "", "", false
	}
	var b []byte
	for i := 1; i < len(line); i++ {
		c := line[i]
		if c == '"' {
			pattern, _, _ = strings.Cut(string(b), "\x00")
			return pattern, line[i+1:], true
		}
		if c != '\\' {
			b = append(b, c)
			continue
		}
		if i++; i == len(line) {
			return "", "", false
		}
		if plain, known := quotedBytes[line[i]]; known {
			b = append(b, plain)
			continue
		}
		if i+2 >= len(line) || line[i] > '3' || !isOctal(line[i]) || !isOctal(line[i+1]) || !isOctal(line[i+2]) {
			return "", "", false
		}
		b = append(b, (line[i]-'0')<<6|(line[i+1]-'0')<<3|(line[i+2]-'0'))
		i += 2
	}
	return "", "", false
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }

// Attributes are the attributes of a directory: its file, and those of the directories
// above it. A nil Attributes has none.
type Attributes struct {
	above *Attributes
	// dir is the path of the directory with a slash at its end, empty for the root.
	dir  string
	file *AttributesFile
	// macros are those of the root.
	macros map[string][]attributeRuling
}

// Within returns the attributes of a directory below that of a, or of the root if a is
// nil, whose file is f. dir ends in a slash, except for the root. A nil f adds nothing.
func (a *Attributes) Within(dir string, f *AttributesFile) *Attributes {
	switch {
	case f == nil:
		return a
	case dir == "":
		return &Attributes{a, dir, f, f.macros}
	case a == nil:
		return &Attributes{a, dir, f, nil}
	}
	return &Attributes{a, dir, f, a.macros}
}

// Classify returns what the attributes say about the file at path, which is below their
// directory: of the lines that match, the last one of the nearest file.
func (a *Attributes) Classify(path string) Override {
	if a == nil {
		return Override{}
	}
	c := classification{macros: a.macros, steps: maxMatchSteps}
	for ; a != nil; a = a.above {
		within := path[len(a.dir):]
		for i := len(a.file.rules) - 1; i >= 0; i-- {
			r := &a.file.rules[i]
			if c.steps--; c.steps <= 0 {
				return c.override
			}
			if !c.addsTo(r) || !r.pattern.matches(within, &c.steps) {
				continue
			}
			if c.decide(r.rulings); c.count == int(linguistAttributes) {
				return c.override
			}
		}
	}
	return c.override
}

// classification is what is known of a file while its attributes are looked for.
type classification struct {
	override Override
	decided  [linguistAttributes]bool
	count    int // of decided
	macros   map[string][]attributeRuling
	// decidedMacros contains the macros that are set, unset or have a value.
	decidedMacros map[string]bool
	steps         int
}

// addsTo reports whether a line is about an attribute that is not decided yet.
func (c *classification) addsTo(r *attributeRule) bool {
	for i := range r.rulings {
		c.steps-- // a line may have a thousand attributes that are no macros
		if c.isOpen(&r.rulings[i]) {
			return true
		}
	}
	return false
}

// isOpen reports whether a ruling is about an attribute that is not decided yet.
func (c *classification) isOpen(r *attributeRuling) bool {
	if r.attribute != otherAttribute {
		return !c.decided[r.attribute]
	}
	_, isMacro := c.macros[r.name]
	return isMacro && !c.decidedMacros[r.name]
}

// decide takes over the rulings of a line, from right to left. Those of a macro count in
// its place.
func (c *classification) decide(rulings []attributeRuling) {
	for i := len(rulings) - 1; i >= 0; i-- {
		r := &rulings[i]
		if c.steps--; c.steps <= 0 || !c.isOpen(r) {
			continue
		}
		if r.attribute != otherAttribute {
			c.decided[r.attribute] = true
			c.count++
			c.override.add(r)
		} else {
			if c.decidedMacros == nil {
				c.decidedMacros = make(map[string]bool)
			}
			c.decidedMacros[r.name] = true
		}
		if r.set {
			c.decide(c.macros[r.name])
		}
	}
}

func (o *Override) add(r *attributeRuling) {
	switch r.attribute {
	case attributeLanguage:
		o.Language = r.language
	case attributeGenerated:
		o.Generated = r.ruling
	case attributeVendored:
		o.Vendored = r.ruling
	case attributeDocumentation:
		o.Documentation = r.ruling
	}
}
