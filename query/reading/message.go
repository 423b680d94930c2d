package reading

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
)

const (
	// minMessageWords is how many words make a message; with values, one less suffices.
	minMessageWords = 3
	// minSentenceWords is how many words are rarely typed except as a sentence.
	minSentenceWords = 5
	// maxMessageBytes bounds the part of a message that is read.
	maxMessageBytes = 2 << 10
)

// valuePattern matches values that programs fill into format strings: numbers with or
// without a unit, hexadecimal digits, UUIDs, paths, addresses, times, and words with an
// equals sign or an @.
var valuePattern = regexp.MustCompile(`^[("'\[<{]*(?:` +
	`[-+]?\d[\d.,_]*(?:[a-zA-Z%µ]{0,3}\d*)*` + // 12, 1.5s, 2h3m, 99%, 10GiB
	`|(?:0x)?[0-9a-fA-F]*\d[0-9a-fA-F]*` + // hexadecimal digits
	`|[0-9a-fA-F]+(?:-[0-9a-fA-F]+){2,}` + // UUID
	`|[^\s]*[/\\@=][^\s]*` + // paths, addresses, key=value
	`|\d[\d.:TZ+-]*` +
	`|[\w.-]+:\d+` +
	`)[)"'\]>},;:.!?]*$`)

// keyPattern matches the key of a value: size=12.
var keyPattern = regexp.MustCompile(`^\pL[\pL\pN]+=[^\s=]`)

// isMessage recognizes an error message: words with values between them, or enough words.
func (p *Paste) isMessage(t *queryShape) bool {
	if p.isPath(t) {
		return true
	}
	if t.words < minMessageWords-1 || len(p.Lines) > MaxCodeLines || t.operators && !p.isSentence() {
		return false
	}
	words, values := 0, 0
	for chunk := range strings.FieldsSeq(cutMessage(p.Text)) {
		switch {
		case keyPattern.MatchString(chunk):
			words++
			values++
		case valuePattern.MatchString(chunk) || strings.ContainsAny(chunk, "\"'`") && strings.Trim(chunk, "\"'`") != chunk:
			values++
		case strings.ContainsFunc(chunk, unicode.IsLetter) && len(chunk) > 1:
			words++
		}
	}
	if values > 0 {
		words++
	}
	if words < minMessageWords && (!strings.Contains(p.Text, ": ") || len((&Words{Text: cutMessage(p.Text)}).PathRuns()) == 0) {
		return false
	}
	p.Sure = values > 0 || strings.Contains(p.Text, ": ") || t.operators
	p.Long = words >= minSentenceWords
	return true
}

// isSentence reports whether the words or, and and not of a text belong to a sentence
// rather than being operators: something is not found, or the text has a function word.
func (p *Paste) isSentence() bool {
	if strings.Contains(p.Text, ": ") {
		return true
	}
	text := capitalNot.ReplaceAllString(valueGroup.ReplaceAllString(p.Text, ""), "must not ")
	return !operatorSigns.MatchString(text) && len(strings.Fields(p.Text)) > minMessageWords && functionWords.MatchString(text)
}

var (
	// operatorSigns match what only queries contain: operators in capitals, negated
	// terms, groups.
	operatorSigns = regexp.MustCompile(`\b(?:OR|AND|NOT)\b|(?:^|\s)(?:-["(\pL]|\()`)
	// capitalNot and valueGroup match what looks like an operator but belongs to a message:
	// NOT after the verb that it negates, and a group with a value, such as (attempt 3).
	capitalNot    = regexp.MustCompile(`\b(?:MUST|SHALL|SHOULD|MAY|CAN|COULD|WILL|DO|DOES|DID|IS|ARE|WAS|WERE|HAS|HAVE) NOT `)
	valueGroup    = regexp.MustCompile(`\([^()|&]*\d[^()|&]*\)`)
	functionWords = regexp.MustCompile(`(?i)\b(?:(?:is|are|was|were|be|do|does|did|has|have|had|can|could|should|must|may|will|would|if|or|but) not|` +
		`not (?:a|an|the|be|been|in|of|to|yet|enough|able|[a-z]+ed|found|set|valid|available|empty|exist|exists|match|equal|open|ready|running|known)|no such|` +
		`(?:is|are|was|were|the|an?|to|of|for|must|cannot|failed|unable|invalid|unexpected|expected)) `)
)

// isPath recognizes a path with values in it, such as /repos/acme/kettle/issues/12: one
// term, some parts of which may be constant.
func (p *Paste) isPath(t *queryShape) bool {
	return t.words == 1 && !t.blanks && strings.Count(p.Text, "/") >= minPathParts-1 && len(pathPart.FindAllString(p.Text, minPathParts)) >= minPathParts
}

// minPathParts is how many parts a path must have.
const minPathParts = 3

var pathPart = regexp.MustCompile(`[^\s/?&=:]*\pL[^\s/?&=:]*`)

func cutMessage(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxMessageBytes)], "")
}

// Words is a message as a text of one line, and the runs of words in it that may be
// constant; the values between them are left out. Each word is a range of the text.
type Words struct {
	Text string
	Runs [][]Range
}

// Range is a half-open range of bytes.
type Range struct{ Start, End int }

// Words splits a message. A run ends at a value, a quote, a colon or an equals sign.
func (p *Paste) Words() *Words {
	w := &Words{Text: strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return ' '
		}
		return c
	}, cutMessage(p.Text))}
	masked := []byte(w.Text)
	for _, at := range filledInPattern.FindAllStringIndex(w.Text, -1) {
		if at[0] > 0 && w.Text[at[0]] == '\'' && isWordRune(rune(w.Text[at[0]-1])) {
			continue // an apostrophe
		}
		for i := at[0]; i < at[1]; i++ {
			masked[i] = '"'
		}
	}
	if !strings.Contains(w.Text, " ") && strings.Contains(w.Text, "/") {
		w.Runs = w.PathRuns()
		return w
	}
	w.Runs = splitRuns(masked)
	return w
}

// UnquotedRuns returns the runs with the words in quotes, which may be of the format; nil if the
// message has no quotes.
func (w *Words) UnquotedRuns() [][]Range {
	if !strings.ContainsAny(w.Text, "\"`") {
		return nil
	}
	return splitRuns([]byte(w.Text))
}

// splitRuns splits a message whose values are quotes.
func splitRuns(masked []byte) (runs [][]Range) {
	var run []Range
	last := 0
	for _, at := range messageWord.FindAllIndex(masked, MaxWords) {
		end := at[0] + len(bytes.TrimRight(masked[at[0]:at[1]], ".-'"))
		if len(run) > 0 && bytes.ContainsAny(masked[last:at[0]], "\"`\\%{}$:=<>|0123456789") {
			runs = append(runs, run)
			run = nil
		}
		run = append(run, Range{at[0], end})
		last = end
	}
	if len(run) > 0 {
		runs = append(runs, run)
	}
	return runs
}

// PathRuns returns the parts of the paths in a message, one run for each path: a format
// string may contain some of them.
func (w *Words) PathRuns() (runs [][]Range) {
	for _, at := range pathToken.FindAllStringIndex(w.Text, MaxWords) {
		var run []Range
		for _, part := range pathPart.FindAllStringIndex(w.Text[at[0]:at[1]], MaxWords) {
			run = append(run, Range{at[0] + part[0], at[0] + part[1]})
		}
		if len(run) >= minPathParts {
			runs = append(runs, run)
		}
	}
	return runs
}

// pathToken matches a word with slashes in it.
var pathToken = regexp.MustCompile(`\S*/\S*/\S*`)

var (
	messageWord = regexp.MustCompile(`[\pL_][\pL\pN_.\-']*`)
	// filledInPattern matches values that may contain words: quoted text, paths, UUIDs,
	// hexadecimal digits, numbers with units.
	filledInPattern = regexp.MustCompile(`"[^"]*"|'[^']*'|` + "`[^`]*`" + `|\S*[/\\@]\S*|\b[0-9a-fA-F]+(?:-[0-9a-fA-F]+){2,}\b|\b(?:0x)?[0-9a-fA-F]*\d[0-9a-fA-F]{3,}\b|\b\d[\d.,:]*[a-zA-Z%µ]{0,3}(?:\d+[a-zA-Zµ]{1,3})*\b`)
)

// Letters counts the letters of the words that may be constant.
func (w *Words) Letters() int {
	n := 0
	for _, run := range w.Runs {
		for _, r := range run {
			n += r.End - r.Start
		}
	}
	return n
}

// Template is a string literal that may have been the format of a message.
type Template struct {
	// Literal is the text of the literal as written, in pieces that follow each other on
	// the line.
	Literal []string
	// Weight is the number of its letters and digits that also occur in the message, and
	// Words the number of its words that do.
	Weight, Words int
	// Gaps is the number of its placeholders.
	Gaps int
	// Ends counts the ends of the message, or of a part between colons, at which the
	// template begins or ends: 0 to 2.
	Ends int
	// Quoted is set if the literal is in quotes, and not the whole text of a line.
	Quoted bool
	// Covers are the ranges of the message that match its constant parts, and Spans the
	// range from its first to its last part, gaps included.
	Covers []Range
	Spans  Range
}

// placeholderPattern matches a placeholder of a format string in many languages: %s %5.2f
// %(name)s {} {0} {name:>5} ${x} #{x} \(x) {{.X}}.
var placeholderPattern = regexp.MustCompile(`%\(\w+\)[-+#0 ]*[\d.]*[a-zA-Z]|%[-+# 0]*(?:\[\d+\])?[*\d]*(?:\.[*\d]+)?(?:hh|h|ll|l|z|j|t|L|I64)?[a-zA-Z]|\{\{[^{}]*\}\}|[$#]?\{[^{}]*\}|\\\([^()]*\)|\$\w+`)

// stringLiterals match the literals of a line, by kind of quote.
var stringLiterals = []*regexp.Regexp{
	regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`), regexp.MustCompile("`([^`]*)`"), regexp.MustCompile(`'((?:[^'\\]|\\.)*)'`),
}

const (
	// maxTemplateLine bounds a line that is searched for literals, and maxTemplates the
	// literals in it.
	maxTemplateLine = 1 << 10
	maxTemplates    = 16
	// minTemplateWeight is the weight below which a template is not significant.
	minTemplateWeight = 6
)

// BestTemplate returns the literal of a line that explains most of a message; ok is false
// if none explains any of it.
func (w *Words) BestTemplate(line string) (best Template, ok bool) {
	if len(line) > maxTemplateLine {
		return best, false
	}
	try := func(literal []string, quoted bool) {
		if t, fits := w.matchLiteral(literal); fits {
			t.Quoted = quoted
			if !ok || t.Better(&best) {
				best, ok = t, true
			}
		}
	}
	for _, expression := range stringLiterals {
		found := expression.FindAllStringSubmatch(line, maxTemplates)
		var pieces []string
		for _, m := range found {
			try([]string{m[1]}, true)
			if m[1] != "" {
				pieces = append(pieces, m[1])
			}
		}
		if len(pieces) > 1 {
			try(pieces, true) // pieces joined by an operator
		}
	}
	if !ok {
		try([]string{strings.TrimSpace(line)}, false)
	}
	return best, ok
}

// Better reports whether t explains more of a message than o.
func (t *Template) Better(o *Template) bool {
	if a, b := t.templateScore(), o.templateScore(); a != b {
		return a > b
	}
	return len(t.Literal) < len(o.Literal)
}

// About reports whether t explains nearly as much as o.
func (t *Template) About(o *Template) bool { return t.templateScore()*20 >= o.templateScore()*19 }

func (t *Template) templateScore() int {
	score := t.Weight * (4 + t.Ends)
	if t.Gaps > 0 {
		score += t.Weight
	}
	if !t.Quoted {
		score /= 2
	}
	return score
}

// matchLiteral compares a literal with the message.
func (w *Words) matchLiteral(literal []string) (t Template, ok bool) {
	var expression strings.Builder
	constants := 0
	add := func(constant string) {
		constant = decodeEscapes(constant)
		constants += len(letterPattern.FindAllString(constant, -1))
		expression.WriteString("(" + blankPattern.ReplaceAllString(regexp.QuoteMeta(constant), `\s+`) + ")")
	}
	for i, piece := range literal {
		if i > 0 {
			expression.WriteString(`.*?`)
			t.Gaps++
		}
		if i == len(literal)-1 {
			piece = strings.TrimSuffix(strings.TrimRight(piece, " "), `\n`)
		}
		last := 0
		for _, at := range placeholderPattern.FindAllStringIndex(strings.ReplaceAll(piece, "%%", "\x00\x00"), -1) {
			add(piece[last:at[0]])
			expression.WriteString(gapOf(piece[at[0]:at[1]]))
			t.Gaps++
			last = at[1]
		}
		add(piece[last:])
	}
	if constants < minTemplateWeight {
		return t, false
	}
	e, err := regexp.Compile(expression.String())
	if err != nil {
		return t, false
	}
	at := e.FindStringSubmatchIndex(w.Text)
	if at == nil {
		return t, false
	}
	for i := 2; i+1 < len(at); i += 2 {
		if at[i] < at[i+1] {
			constant := w.Text[at[i]:at[i+1]]
			t.Weight += len(letterPattern.FindAllString(constant, -1))
			t.Words += len(wordPattern.FindAllString(constant, -1))
			t.Covers = append(t.Covers, Range{at[i], at[i+1]})
		}
	}
	if isBoundary(w.Text[:at[0]], true) {
		t.Ends++
	}
	if isBoundary(w.Text[at[1]:], false) || strings.HasSuffix(expression.String(), ".*?()") {
		t.Ends++
	}
	t.Literal, t.Spans = literal, Range{at[0], at[1]}
	if strings.HasSuffix(expression.String(), ".*?()") {
		t.Spans.End = len(w.Text)
	}
	return t, t.Words > 0
}

var (
	letterPattern = regexp.MustCompile(`[\pL\pN]`)
	wordPattern   = regexp.MustCompile(`[\pL]{2,}`)
	blankPattern  = regexp.MustCompile(`(?:\s|\\n|\\t)+`)
)

// isBoundary reports whether a message, or a part between colons, begins after text
// (before is set) or ends before it.
func isBoundary(text string, before bool) bool {
	if before {
		text = strings.TrimRight(text, " ")
		return text == "" || strings.ContainsAny(text[len(text)-1:], ":]>-\"'=(;")
	}
	return text == "" || strings.ContainsAny(text[:1], ":;,.\"')]\n")
}

// IsValueOf reports whether t has no gaps and lies in a gap of o, as the text of a cause
// does.
func (t *Template) IsValueOf(o *Template) bool {
	if t.Gaps > 0 || o.Gaps == 0 || t.Spans.Start < o.Spans.Start || t.Spans.End > o.Spans.End {
		return false
	}
	for _, c := range o.Covers {
		if c.Start < t.Spans.End && t.Spans.Start < c.End {
			return false
		}
	}
	return true
}

// gapOf returns an expression for the possible values of a placeholder.
func gapOf(placeholder string) string {
	if placeholder[0] != '%' {
		return `.*?`
	}
	switch placeholder[len(placeholder)-1] {
	case 'q':
		return `\[?["` + "`" + `'].*?["` + "`" + `']\]?`
	case 'd':
		return `[-+\[]?\d[\d ]*\]?`
	case 'x', 'X':
		return `(?:0[xX])?[0-9a-fA-F ]+?`
	case 'T':
		return `[\w.*\[\]]+?`
	}
	return `.*?`
}

// decodeEscapes decodes the escapes in a literal that appear decoded in messages.
func decodeEscapes(s string) string {
	if !strings.ContainsAny(s, `\%`) {
		return s
	}
	return unescaper.Replace(s)
}

var unescaper = strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\\`, `\`, `\n`, ` `, `\t`, ` `, "%%", "%", "\\`", "`")

// Overlaps reports whether o also covers at least a fifth of the letters that t covers.
func (t *Template) Overlaps(o *Template) bool {
	shared, all := 0, 0
	for _, a := range t.Covers {
		all += a.End - a.Start
		for _, b := range o.Covers {
			shared += max(min(a.End, b.End)-max(a.Start, b.Start), 0)
		}
	}
	return shared*5 > all
}

// Expression returns a regular expression for the literal as written, between quotes if
// it is quoted.
func (t *Template) Expression() string {
	pieces := make([]string, len(t.Literal))
	for i, piece := range t.Literal {
		pieces[i] = regexp.QuoteMeta(piece)
	}
	expression := strings.Join(pieces, ".*")
	if t.Quoted {
		return anyQuote + expression + anyQuote
	}
	return expression
}

const anyQuote = "[\"'`]"
