package syntax

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse checks the invariants of doc.go for any text: no panic, errors that point
// into the text, trees of the specified shape, and the same tree again after printing
// with any options.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"foo bar", `"a\"b" or -c`, "(a (b or c)) -(d)", "case:yes type:file x", "type:symbol a content:b -(regex:c literal:d)", `t:repo "a.b" select:file c:"(x"`, `file:"a b" r:(x|y)`,
		"not not a", "() (()) -()", "if (err != nil) {", `[ \t]+ (a b)c`, "repo:x a or b", "case:auto (case:no A) regex:B literal:(",
		"repo:has.file(path:go.mod content:a b) -file:has.content((x|y) z)", `repo:contains.file(path:"*.go" content:"a\"b") a NEAR/5 b`} {
		f.Add(text, false, false)
		f.Add(text, true, true)
	}
	f.Fuzz(func(t *testing.T, text string, regexp, sensitive bool) {
		o := Options{Regexp: regexp, CaseSensitive: sensitive}
		parsed, err := Parse(text, o)
		checkCompared(t, text, o, parsed, err)
		if err != nil {
			checkError(t, text, err)
			return
		}
		checkShape(t, parsed)
		checkParsedRoundTrip(t, parsed)
	})
}

func checkError(t *testing.T, text string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrInvalid) {
		t.Fatalf("%v is no *Error", err)
	}
	if e.Position < 0 || e.Position > len(text) || e.Message == "" || e.Advice == "" || !strings.HasPrefix(text, e.Query) {
		t.Fatalf("%+v", e)
	}
	if utf8.RuneCountInString(text[:e.Position])+1 != e.Column {
		t.Fatalf("column %d for byte %d of %q", e.Column, e.Position, text)
	}
}

func checkShape(t *testing.T, p *Parsed) {
	t.Helper()
	leaves := 0
	Walk(p.Root, func(q Query) bool {
		at := q.Span()
		if at.Start < 0 || at.Start > at.End || at.End > len(p.Text) {
			t.Fatalf("%s stands at %v", dumpTree(q), at)
		}
		if hasUndecidedCase(q) {
			t.Fatalf("%s has no case", dumpTree(q))
		}
		switch q := q.(type) {
		case *And, *Or:
			if len(childrenOf(q)) < 2 {
				t.Fatalf("%s has too few children", dumpTree(q))
			}
		case *Not:
			if _, ok := q.Child.(*Const); ok {
				t.Fatalf("%s is a constant", dumpTree(q))
			}
		default:
			leaves++
		}
		return true
	})
	if leaves > MaxTerms || len(p.Notices) > MaxNotices {
		t.Fatalf("%d leaves, %d notices", leaves, len(p.Notices))
	}
}

// hasUndecidedCase reports whether q is a leaf whose case is not resolved.
func hasUndecidedCase(q Query) bool {
	is, given := (&printer{terms: CaseYes, repos: CaseYes}).caseOf(q)
	return given != CaseDefault && is == CaseDefault
}

// checkParsedRoundTrip skips texts whose printed form may exceed a limit: quotes and
// case: make them longer and more deeply nested.
func checkParsedRoundTrip(t *testing.T, p *Parsed) {
	t.Helper()
	if len(p.Text) > MaxQueryBytes/16 || depthOf(p.Root) > MaxDepth-3 {
		return
	}
	for _, o := range allOptions {
		printed := p.Print(o)
		again, err := Parse(printed, o)
		if err != nil {
			t.Fatalf("%q gives %s, %+v prints %q: %v", p.Text, dumpTree(p.Root), o, printed, err)
		}
		if !Equal(p.Root, again.Root) || p.Type != again.Type || p.Select != again.Select {
			t.Fatalf("%q gives %s, %+v prints %q, read as %s", p.Text, dumpTree(p.Root), o, printed, dumpTree(again.Root))
		}
		if twice := again.Print(o); twice != printed {
			t.Fatalf("%q prints %q, then %q", p.Text, printed, twice)
		}
	}
}

func depthOf(q Query) int {
	deepest := 0
	for _, child := range childrenOf(q) {
		deepest = max(deepest, depthOf(child))
	}
	return deepest + 1
}

// FuzzPrint is TestPrintThenParseIsIdentity for any seed with any text in the tree.
func FuzzPrint(f *testing.F) {
	f.Add(uint64(1), "foo")
	f.Add(uint64(2), `(" \`)
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		if text == "" || !utf8.ValidString(text) || len(text) > 1000 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 6))
		q := Query(&Text{Pattern: text, Case: CaseNo})
		if _, fault := regexpSize(text, MaxRegexpInstructions); fault == nil && unicodeClasses(text) < 10 && r.IntN(2) == 0 {
			q = &File{Pattern: text, Case: CaseYes}
		}
		checkRoundTrip(t, &And{Children: []Query{q, &Not{Child: q}, randomTree(r, 3)}})
	})
}
