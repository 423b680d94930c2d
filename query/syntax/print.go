package syntax

import (
	"strconv"
	"strings"
)

// Print formats a tree as a query from which Parse, with the same Options, reads the same
// tree.
//
// A term that is not of the mode of o is written with regex: or literal:, and a case
// other than that of o with case:.
func Print(q Query, o Options) string { return printTyped(q, o, TypeDefault) }

// printTyped prints a tree as the root of a query of the given type: with a type, a
// content term needs its keyword.
func printTyped(q Query, o Options, kind TypeKind) string {
	p := newPrinter(q, o)
	p.keywords = kind != TypeDefault
	p.writeRoot(q)
	return p.b.String()
}

// newPrinter returns a printer that has written the common case of the leaves of q, if it
// must be written.
func newPrinter(q Query, o Options) *printer {
	p := &printer{o: o, terms: CaseNo, repos: CaseNo}
	if o.CaseSensitive {
		p.terms = CaseYes
	}
	if c := p.commonCase(q); c != CaseDefault {
		p.terms, p.repos = c, c
		p.b.WriteString(caseSetting(c))
	}
	return p
}

// Print formats the whole query so that Parse with the same Options reads it again.
func (q *Parsed) Print(o Options) string {
	settings := ""
	if q.Type != TypeDefault {
		settings += "type:" + q.Type.String() + " "
	}
	if q.Select != SelectDefault {
		settings += "select:" + q.Select.String() + " "
	}
	return settings + printTyped(q.Root, o, q.Type)
}

// PrintLiteral formats the whole query with each term in quotes or after a keyword, so
// that Parse with the same Options reads it again. The text is always read as a query,
// never as pasted text.
func (q *Parsed) PrintLiteral(o Options) string {
	if q.Type != TypeDefault || q.Select != SelectDefault {
		return q.Print(o)
	}
	p := newPrinter(q.Root, o)
	p.quoted = true
	p.writeRoot(q.Root)
	return p.b.String()
}

// String formats the whole query for Parse with zero Options.
func (q *Parsed) String() string { return q.Print(Options{}) }

// printer writes a tree. terms and repos are the cases of leaves without a written case.
type printer struct {
	o            Options
	keywords     bool // content: must be written
	quoted       bool // terms must be quoted
	terms, repos Case
	b            strings.Builder
}

func caseSetting(c Case) string {
	if c == CaseYes {
		return "case:yes "
	}
	return "case:no "
}

// commonCase returns the case of all leaves of q that have one, if they agree and the
// case must be written.
func (p *printer) commonCase(q Query) Case {
	common, mixed, written := CaseDefault, false, false
	Walk(q, func(q Query) bool {
		c, given := p.caseOf(q)
		if c == CaseDefault {
			return true
		}
		mixed = mixed || common != CaseDefault && common != c
		written = written || c != given
		common = c
		return true
	})
	if mixed || !written {
		return CaseDefault
	}
	return common
}

// caseOf returns the case of a leaf and the one that it would get by default; CaseDefault
// for nodes without a case.
func (p *printer) caseOf(q Query) (is, given Case) {
	switch q := q.(type) {
	case *Text:
		return q.Case, p.terms
	case *File:
		return q.Case, p.terms
	case *Symbol:
		return q.Case, p.terms
	case *RepoHas:
		return q.Case, p.terms
	case *FileHas:
		return q.Case, p.terms
	case *Repo:
		return q.Case, p.repos
	}
	return CaseDefault, CaseDefault
}

// writeRoot writes a node without parentheses around it.
func (p *printer) writeRoot(q Query) {
	switch q := q.(type) {
	case *And:
		p.writeList(q.Children, " ", p.writeUnit)
	case *Or:
		p.writeList(q.Children, " or ", p.writeArm)
	case *Const:
		if q.Value {
			p.b.WriteByte('-')
		}
		p.b.WriteString("()")
	default:
		p.writeUnit(q)
	}
}

func (p *printer) writeList(qs []Query, between string, write func(Query)) {
	for i, q := range qs {
		if i > 0 {
			p.b.WriteString(between)
		}
		write(q)
	}
}

// writeArm writes an operand of or, which binds less tightly than blanks.
func (p *printer) writeArm(q Query) {
	if and, ok := q.(*And); ok && len(and.Children) > 1 {
		p.writeRoot(and)
		return
	}
	p.writeUnit(q)
}

// writeUnit writes a node as one operand.
func (p *printer) writeUnit(q Query) {
	switch q := q.(type) {
	case *And, *Or:
		p.b.WriteByte('(')
		p.writeRoot(q)
		p.b.WriteByte(')')
	case *Not:
		p.writeNot(q)
	case *Const:
		p.writeConst(q)
	default:
		p.writeLeaf(q)
	}
}

// writeConst writes () in another pair of parentheses: next to other terms a bare () is
// text.
func (p *printer) writeConst(q *Const) {
	if q.Value {
		p.b.WriteString("-()")
		return
	}
	p.b.WriteString("(())")
}

// writeNot writes the word "not" where a minus would be text, as in --x and -1.
func (p *printer) writeNot(q *Not) {
	if minusIsText(q.Child) {
		p.b.WriteString("not ")
	} else {
		p.b.WriteByte('-')
	}
	p.writeUnit(q.Child)
}

func minusIsText(q Query) bool {
	switch q := q.(type) {
	case *Not:
		return true
	case *Text:
		return q.Pattern != "" && strings.IndexByte("->=0123456789", q.Pattern[0]) >= 0
	}
	return false
}

func (p *printer) writeLeaf(q Query) {
	c, given := p.caseOf(q)
	isPlain := c == given || c == CaseDefault
	if isPlain && !hasConditions(q) {
		p.writeBareLeaf(q)
		return
	}
	p.b.WriteByte('(')
	if !isPlain {
		p.b.WriteString(caseSetting(c))
	}
	p.writeConditions(q, c)
	p.writeBareLeaf(q)
	p.b.WriteByte(')')
}

// hasConditions reports whether a leaf has conditions on its matches.
func hasConditions(q Query) bool {
	switch q := q.(type) {
	case *Text:
		return len(q.Lines) > 0
	case *Symbol:
		return len(q.Kinds)+len(q.Lines) > 0 || q.Parent != ""
	}
	return false
}

// writeConditions writes the conditions of a leaf, in parentheses with it; c is the case
// of the parentheses.
func (p *printer) writeConditions(q Query, c Case) {
	var lines []Line
	switch q := q.(type) {
	case *Text:
		lines = q.Lines
	case *Symbol:
		lines = q.Lines
		if q.Parent != "" {
			p.b.WriteString("parent:" + strconv.Quote(q.Parent) + " ")
		}
		for _, k := range q.Kinds {
			p.writeMinus(k.Not)
			p.b.WriteString("kind:" + strings.Join(k.Words, ",") + " ")
		}
	}
	for _, l := range lines {
		p.writeMinus(l.Not)
		if l.Case != c {
			p.b.WriteString("(" + caseSetting(l.Case))
		}
		p.writeLineCondition(l)
		if l.Case != c {
			p.b.WriteByte(')')
		}
		p.b.WriteByte(' ')
	}
}

func (p *printer) writeMinus(not bool) {
	if not {
		p.b.WriteByte('-')
	}
}

// writeLineCondition writes a condition on lines.
func (p *printer) writeLineCondition(l Line) { p.writeFilter(filterLine, l.Pattern) }

// writeBareLeaf writes a leaf without its case.
func (p *printer) writeBareLeaf(q Query) {
	switch q := q.(type) {
	case *Text:
		p.writeText(q)
	case *File:
		p.writeFilter(filterFile, q.Pattern)
	case *Repo:
		p.writeFilter(filterRepo, q.Pattern)
	case *Symbol:
		p.writeFilter(filterSymbol, q.Pattern)
	case *RepoHas:
		p.writeRepoHas(q)
	case *FileHas:
		text, _ := paramText(q.Pattern, false)
		p.b.WriteString("file:has.content(" + text + ")")
	case *Owned:
		p.b.WriteString("file:has.owner(" + q.Owner + ")")
	case *Language:
		p.writeFilter(filterLanguage, q.Name)
	case *Revision:
		p.writeFilter(filterRevision, q.Pattern)
	case *Context:
		p.writeFilter(filterContext, q.Name)
	case *RepoSet:
		p.writeFilter(filterRepoSet, strings.Join(q.Names, ","))
	case *Archived:
		p.b.WriteString("archived:" + q.Want.String())
	case *Fork:
		p.b.WriteString("fork:" + q.Want.String())
	case *Visibility:
		p.b.WriteString("visibility:" + q.Want.String())
	case *Is:
		p.b.WriteString("is:" + q.Trait.String())
	case *Kinds:
		p.b.WriteString("kind:" + strings.Join(q.Words, ","))
	case *Line:
		p.writeLineCondition(*q)
	}
}

func (p *printer) writeText(q *Text) {
	switch {
	case q.Regexp == p.o.Regexp && p.keywords:
		p.writeFilter(filterContent, q.Pattern)
	case q.Regexp == p.o.Regexp && !p.quoted && isBareTerm(q.Pattern, q.Regexp):
		p.b.WriteString(q.Pattern)
	case q.Regexp == p.o.Regexp && q.Pattern != "":
		p.b.WriteString(quoteTerm(q.Pattern))
	case q.Regexp:
		p.writeFilter(filterRegexp, q.Pattern)
	default:
		p.writeFilter(filterLiteral, q.Pattern)
	}
}

func (p *printer) writeFilter(f *filter, v string) {
	p.b.WriteString(f.name)
	p.b.WriteByte(':')
	if isBareValue(v, f.isRegexp(p.o.Regexp)) && !(f.takesGlobs && isGlob(v)) && !isPredicate(f, v) {
		p.b.WriteString(v)
		return
	}
	p.b.WriteString(quoteTerm(v))
}

// isBareTerm reports whether an unquoted term reads back unchanged. When in doubt it
// returns false, so that the term is quoted.
func isBareTerm(pattern string, isRegexp bool) bool {
	return operatorOf(pattern) == 0 && !strings.HasPrefix(pattern, "-") && !strings.HasPrefix(pattern, "(") &&
		!strings.Contains(pattern, ":") && isBareValue(pattern, isRegexp)
}

// isBareValue reports whether an unquoted filter value reads back unchanged.
func isBareValue(v string, isRegexp bool) bool {
	if v == "" || v[0] == ':' || v[0] == '/' || strings.ContainsAny(v, "\" \t\n\r\v\f") {
		return false
	}
	if isRegexp {
		return isBalanced(v)
	}
	return !strings.ContainsAny(v, `()[]\`)
}

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// quoteTerm is the inverse of unquoteTerm.
func quoteTerm(s string) string { return `"` + quoter.Replace(s) + `"` }

// unquoteTerm decodes the text between quotes: \" and \\ lose their backslash, and any
// other pair is kept, so that \n in a pasted string and \w in an expression keep their
// meaning.
func unquoteTerm(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if isEscapePair(s, i) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isEscapePair reports whether \" or \\ is at i.
func isEscapePair(s string, i int) bool {
	return s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\')
}

// rawOffset returns the offset in a quoted text s of the byte at offset of its decoded
// form.
func rawOffset(s string, offset int) int {
	i := 0
	for ; i < len(s) && offset > 0; offset-- {
		if isEscapePair(s, i) {
			i++
		}
		i++
	}
	return i
}
