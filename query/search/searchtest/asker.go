package searchtest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// An Asker generates random queries for a corpus.
type Asker struct {
	*rand.Rand
	Model *Model
}

// PickOne returns one of the texts.
func (a Asker) PickOne(from ...string) string { return from[a.IntN(len(from))] }

// RandomQuery generates a query that can be printed, so that it can be rerun manually.
func (a Asker) RandomQuery() *syntax.Parsed {
	q := &syntax.Parsed{Root: a.buildTree(a.IntN(3))}
	switch a.IntN(8) {
	case 0:
		q.Type = syntax.TypeKind(1 + a.IntN(3))
	case 1:
		q.Select = syntax.SelectKind(1 + a.IntN(4))
	case 2:
		q.Type, q.Select = syntax.TypeKind(a.IntN(4)), syntax.SelectKind(a.IntN(5))
	}
	return q
}

func (a Asker) buildTree(depth int) syntax.Query {
	if depth == 0 {
		return a.buildLeaf()
	}
	switch a.IntN(6) {
	case 0:
		return &syntax.Or{Children: []syntax.Query{a.buildTree(depth - 1), a.buildTree(depth - 1)}}
	case 1, 2:
		if child := a.buildTree(depth - 1); !isConst(child) {
			return &syntax.And{Children: []syntax.Query{a.buildTree(depth - 1), &syntax.Not{Child: child}}}
		}
	case 3:
		return a.buildLeaf()
	}
	return &syntax.And{Children: []syntax.Query{a.buildTree(depth - 1), a.buildTree(depth - 1)}}
}

func isConst(q syntax.Query) bool {
	_, ok := q.(*syntax.Const)
	return ok
}

func (a Asker) buildLeaf() syntax.Query {
	c := syntax.CaseYes + syntax.Case(a.IntN(2))
	switch a.IntN(40) {
	case 34, 35:
		return &syntax.Text{Pattern: a.PickOne("kmaloc", "kmallco", "strcut", "k_malloc", "structt", "retrun", "istabnul", "0123456789012435", "unique"), Case: c}
	case 36, 37:
		return &syntax.FileHas{Pattern: a.PickOne("kmalloc", "^if", "x.f", "unique", "k", "nowhere"), Case: c}
	case 38, 39:
		has := &syntax.RepoHas{Path: a.PickOne("", "FILE1", "^test/", `\.c$`, "nowhere"), Content: a.PickOne("kmalloc", "^if", "x.f", "unique", "nowhere"), Case: c}
		if has.Path != "" && a.IntN(2) == 0 {
			has.Content = ""
		}
		return has
	case 30:
		return &syntax.Is{Trait: syntax.Trait(a.IntN(4))}
	case 31:
		kinds := syntax.Kinds{Words: [][]string{{"struct"}, {"func"}, {"struct", "method"}, {"class"}, {"type"}}[a.IntN(5)], Not: a.IntN(3) == 0}
		return &syntax.Symbol{Pattern: a.PickOne(".", "kmal", "^struct$", "^k"), Case: c, Kinds: []syntax.Kinds{kinds}, Lines: a.buildLines()}
	case 32:
		return &syntax.Text{Pattern: a.PickOne("if", "k", "a", "return", "struct", "kmalloc"), Case: c, Lines: a.buildLines()}
	case 33:
		return &syntax.Text{Pattern: a.RandomExpression(1), Regexp: true, Case: c, Lines: a.buildLines()}
	case 0, 1:
		return &syntax.File{Pattern: a.PickOne("src", "^test/", `\.c$`, "FILE1", ".", "x*", `(?s)lib.*\d`, "fiel1", "^scr/"), Case: c}
	case 2:
		return &syntax.Repo{Pattern: a.PickOne("repo1", "^HOST/", ".", "repo[02]$", "x*", "rpeo", "host/repoo"), Case: c}
	case 3:
		return &syntax.Language{Name: a.PickOne("go", "C", "python", "rust", "pyhton")}
	case 4, 5:
		return &syntax.Revision{Pattern: a.PickOne("dev", "*", "HEAD", "refs/tags/", "e", "nowhere", "mian", "abcdef", "abcdef0", string(code.PinRef(PinnedCommit)))}
	case 6:
		return &syntax.Archived{Want: syntax.Inclusion(a.IntN(3))}
	case 7:
		return &syntax.Fork{Want: syntax.Inclusion(a.IntN(3))}
	case 8:
		return &syntax.Visibility{Want: syntax.Access(a.IntN(3))}
	case 9:
		return &syntax.RepoSet{Names: []string{"host/repo1", "host/repo7"}[:1+a.IntN(2)]}
	case 10, 11, 12:
		return &syntax.Symbol{Pattern: a.PickOne("kmal", "^struct$", ".", "KMALLOC", "x*", "a.*c", "(?s)k.*", `t\nk`, "u", "^k", "c$", "^kmalloc", "^parse$"), Case: c}
	case 13:
		return &syntax.Const{Value: a.IntN(2) == 0}
	case 14, 15, 16, 17, 18:
		return &syntax.Text{Pattern: a.RandomExcerpt(), Case: c}
	case 19:
		return &syntax.Text{Pattern: a.PickOne("{", "a", "k", "ß", "if", "é", "世", "\ufffd", "12", "_", " ", "\t"), Case: c}
	}
	return &syntax.Text{Pattern: a.RandomExpression(2), Regexp: true, Case: c}
}

// buildLines generates up to two conditions on lines.
func (a Asker) buildLines() []syntax.Line {
	var all []syntax.Line
	for range a.IntN(3) {
		all = append(all, syntax.Line{
			Pattern: a.PickOne("kfree", "x", "^ret", "STRUCT", "[{(]", "err|TODO", "const$", "foo.bar", "[0-9]"), Case: syntax.CaseYes + syntax.Case(a.IntN(2)), Not: a.IntN(2) == 0,
		})
	}
	return all
}

// RandomExcerpt returns a literal that occurs, or nearly occurs, in the corpus.
func (a Asker) RandomExcerpt() string {
	text := a.Model.Documents[a.IntN(len(a.Model.Documents))].Text
	start := a.IntN(len(text))
	piece := text[start:min(start+1+a.IntN(1<<(1+a.IntN(7))), len(text))]
	s := strings.ToValidUTF8(string(piece), "")
	switch a.IntN(5) {
	case 0:
		s = strings.ToUpper(s)
	case 1:
		s = strings.ToLower(s)
	case 2:
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	if s == "" {
		return "if"
	}
	return s
}

// RandomExpression generates a regular expression from the vocabulary of the corpus.
func (a Asker) RandomExpression(depth int) string {
	if depth == 0 {
		return a.randomAtom()
	}
	sub := func() string { return a.RandomExpression(depth - 1) }
	for {
		s := ""
		switch a.IntN(9) {
		case 0:
			s = "(" + sub() + "|" + sub() + ")"
		case 1:
			s = "(?:" + sub() + ")" + a.PickOne("*", "+", "?", "??", "*?", "{2}", "{1,3}", "{5,}")
		case 2:
			s = "(?i:" + sub() + ")"
		case 3:
			s = a.PickOne("^", `\b`, `\A`) + sub()
		case 4:
			s = sub() + a.PickOne("$", `\b`, `\B`)
		case 5:
			s = sub() + a.PickOne(`\n`, "\n", `\r\n`, `[\n]`, `$\n^`, `(?s:.)`, `\s*\n`, `\r?\n`) + sub()
		default:
			s = sub() + sub()
		}
		if _, err := regexp.Compile(s); err == nil {
			return s
		}
	}
}

func (a Asker) randomAtom() string {
	if a.IntN(3) == 0 {
		return regexp.QuoteMeta(vocabularyText(a.Rand))
	}
	return a.PickOne(".", ".*", `\w+`, `\s`, `[a-c]{3}`, `[^\x00-\x7F]{2}`, `\d{1,2}`, `[0-9]{12}`, `\pL`, `\p{Greek}+`, `[^a]`, `[[:upper:]]`, `x*`, `k\w+c`,
		`x.f`, `[ks]`, `\x{212a}`, `\PL`, `[éß]`, `\S{20}`, `\x{fffd}`, `a|b|(err)`, `[^\n]`, "$", "^",
		`[0-9a-f]{16}`, `\w{20}`, "^if$", `^\s+if`, `^kfree\(x\)$`, "^return$", "err$")
}

// TypedQuery generates what people type or paste.
func (a Asker) TypedQuery() string {
	words := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = a.PickOne("kmalloc", "kmaloc", "struct", "strcut", "return", "retrun", "foo", "bar", "err", "const", "TODO", "long", "line", "naïve", "the", "how", "why does", "fails", "unique1")
		}
		return strings.Join(all, " ")
	}
	p := a.Model.Places[a.IntN(len(a.Model.Places))]
	switch a.IntN(8) {
	case 0:
		return words(1)
	case 1:
		return words(2 + a.IntN(2))
	case 2:
		return words(4 + a.IntN(6))
	case 3:
		return "struct.kmalloc"
	case 4:
		return fmt.Sprintf("Traceback (most recent call last):\n  File \"/x/%s\", line %d, in kmalloc\n  File \"file%d.c\", line 2, in kfree", p.Path, 1+a.IntN(5), a.IntN(1000))
	case 5:
		lines := strings.Split(strings.ToValidUTF8(string(p.Doc.Text), ""), "\n")
		return lines[a.IntN(len(lines))]
	case 6:
		return "error: " + a.RandomExcerpt()
	}
	return "/k\\w+c/ " + words(a.IntN(2))
}

// HideSome returns how a random caller sees views: everything, or all but some of the
// repositories.
func (a Asker) HideSome() func(v corpus.View) corpus.View {
	hidden := a.IntN(8)
	if hidden >= 4 {
		return func(v corpus.View) corpus.View { return v }
	}
	return func(v corpus.View) corpus.View {
		return corpus.NewScreen(corpus.ScreenOptions{}).Hide(v, hidden, func(r *code.Repository) bool { return int(r.ID)%4 != hidden })
	}
}

func vocabularyText(rng *rand.Rand) string {
	return strings.ToValidUTF8(Vocabulary[rng.IntN(len(Vocabulary))], "")
}
