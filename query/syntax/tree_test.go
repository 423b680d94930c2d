package syntax

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomTree builds a tree of the shape that Parse guarantees.
func randomTree(r *rand.Rand, depth int) Query {
	if depth == 0 || r.IntN(4) == 0 {
		return randomLeaf(r)
	}
	switch r.IntN(3) {
	case 0:
		return &And{Children: randomTrees(r, depth-1)}
	case 1:
		return &Or{Children: randomTrees(r, depth-1)}
	}
	child := randomTree(r, depth-1)
	if _, ok := child.(*Const); ok {
		return child
	}
	return &Not{Child: child}
}

func randomTrees(r *rand.Rand, depth int) []Query {
	qs := make([]Query, 2+r.IntN(3))
	for i := range qs {
		qs[i] = randomTree(r, depth)
	}
	return qs
}

func randomLeaf(r *rand.Rand) Query {
	c := CaseYes + Case(r.IntN(2))
	switch r.IntN(20) {
	case 0:
		return &Const{Value: r.IntN(2) == 0}
	case 1:
		return &File{Pattern: randomRegexp(r), Case: c}
	case 2:
		return &Repo{Pattern: randomRegexp(r), Case: c}
	case 3:
		return &Symbol{Pattern: randomRegexp(r), Case: c}
	case 4:
		return &Language{Name: randomText(r)}
	case 5:
		return &Revision{Pattern: randomText(r)}
	case 6:
		return &Context{Name: randomText(r)}
	case 7:
		return &RepoSet{Names: []string{"a/b", "c d", "(e"}[:1+r.IntN(3)]}
	case 8:
		return &Archived{Want: Inclusion(r.IntN(3))}
	case 9:
		return &Fork{Want: Inclusion(r.IntN(3))}
	case 10:
		return &Visibility{Want: Access(r.IntN(3))}
	case 12:
		return &Is{Trait: Trait(r.IntN(4))}
	case 13:
		return &Symbol{Pattern: randomRegexp(r), Case: c, Kinds: randomKinds(r), Lines: randomLines(r)}
	case 14:
		return &Text{Pattern: randomText(r), Case: c, Lines: randomLines(r)}
	case 11:
		return &Text{Pattern: randomRegexp(r), Regexp: true, Case: c}
	case 17:
		return &Owned{Owner: []string{"", "@bob", "a-b@example.com", "org/team"}[r.IntN(4)]}
	case 15:
		return &FileHas{Pattern: randomParam(r, false), Case: c}
	case 16:
		has := &RepoHas{Path: randomParam(r, true), Content: randomParam(r, false), Case: c}
		switch r.IntN(3) {
		case 0:
			has.Path = ""
		case 1:
			has.Content = ""
		}
		return has
	}
	return &Text{Pattern: randomText(r), Case: c}
}

func randomKinds(r *rand.Rand) []Kinds {
	var all []Kinds
	for range r.IntN(3) {
		all = append(all, Kinds{Words: []string{"struct", "func", "method"}[:1+r.IntN(3)], Not: r.IntN(2) == 0})
	}
	return all
}

func randomLines(r *rand.Rand) []Line {
	var all []Line
	for range r.IntN(3) {
		all = append(all, Line{Pattern: randomRegexp(r), Case: CaseYes + Case(r.IntN(2)), Not: r.IntN(2) == 0})
	}
	return all
}

// fragments are texts that are hard to print.
var fragments = []string{"a", "B", "1", " ", "\t", "\n", `"`, `\`, "(", ")", "[", "]", ":", "-", "--", "->", "or", "and", "NOT", "not ", "file:",
	"case:yes", "()", `""`, "é", "{", "}", "*", "|", "^", "$", ".", ",", "/", "//", `\Q`, `\E`, `\"`, "\u00a0", "\x00"}

func randomText(r *rand.Rand) string {
	s := ""
	for range 1 + r.IntN(5) {
		s += fragments[r.IntN(len(fragments))]
	}
	return s
}

// randomRegexp returns a pattern that compiles.
func randomRegexp(r *rand.Rand) string {
	for {
		s := randomText(r)
		if _, fault := regexpSize(s, MaxRegexpInstructions); fault == nil {
			return s
		}
	}
}

// randomParam returns a pattern that a predicate can have.
func randomParam(r *rand.Rand, isPath bool) string {
	for {
		pattern := randomRegexp(r)
		if _, ok := paramText(pattern, isPath); ok {
			return pattern
		}
	}
}

var allOptions = []Options{{}, {Regexp: true}, {CaseSensitive: true}, {Regexp: true, CaseSensitive: true}}

// exceedsPredicates reports whether a tree has more predicates than a query may have.
func exceedsPredicates(q Query) bool {
	n := 0
	Walk(q, func(q Query) bool {
		switch q.(type) {
		case *RepoHas, *Owned:
			n++
		}
		return true
	})
	return n > MaxPredicates
}

// checkRoundTrip checks that Parse(Print(q)) returns q for all options.
func checkRoundTrip(t *testing.T, q Query) {
	t.Helper()
	if exceedsPredicates(q) {
		return
	}
	for _, o := range allOptions {
		printed := Print(q, o)
		parsed, err := Parse(printed, o)
		if err != nil {
			t.Fatalf("%s %+v\nprinted %s\n%v", dumpTree(q), o, printed, err)
		}
		if !Equal(q, parsed.Root) {
			t.Fatalf("%s %+v\nprinted %s\nread    %s", dumpTree(q), o, printed, dumpTree(parsed.Root))
		}
		if again := Print(parsed.Root, o); again != printed {
			t.Fatalf("%s %+v\nprinted %s\nthen    %s", dumpTree(q), o, printed, again)
		}
	}
}

func TestPrintThenParseIsIdentity(t *testing.T) {
	for seed := range uint64(5_000) {
		r := rand.New(rand.NewPCG(seed, 4))
		checkRoundTrip(t, randomTree(r, 4))
	}
}

// TestPrintThenParseIsIdentityUnderType does the same for whole queries, where type:
// makes bare terms patterns on names.
func TestPrintThenParseIsIdentityUnderType(t *testing.T) {
	for seed := range uint64(2_000) {
		r := rand.New(rand.NewPCG(seed, 7))
		q := &Parsed{Root: randomTree(r, 3), Type: TypeKind(r.IntN(len(typeWords))), Select: SelectKind(r.IntN(len(selectWords)))}
		for _, o := range allOptions {
			if exceedsPredicates(q.Root) {
				break
			}
			printed := q.Print(o)
			again, err := Parse(printed, o)
			if err != nil {
				t.Fatalf("seed %d: %s %+v\nprinted %s\n%v", seed, dumpTree(q.Root), o, printed, err)
			}
			if !Equal(q.Root, again.Root) || q.Type != again.Type || q.Select != again.Select {
				t.Fatalf("seed %d: %s %+v\nprinted %s\nread    %s", seed, dumpTree(q.Root), o, printed, dumpTree(again.Root))
			}
			literal, err := Parse(q.PrintLiteral(o), o)
			if err != nil || !Equal(q.Root, literal.Root) || q.Type != literal.Type || q.Select != literal.Select {
				t.Fatalf("seed %d: %s %+v\nprinted in quotes %s\n%v", seed, dumpTree(q.Root), o, q.PrintLiteral(o), err)
			}
		}
	}
}

// TestRandomLeafKnowsEveryLeaf checks that the generator produces every leaf that a
// filter or a term can produce.
func TestRandomLeafKnowsEveryLeaf(t *testing.T) {
	made := map[string]bool{}
	r := rand.New(rand.NewPCG(1, 8))
	for range 2_000 {
		made[fmt.Sprintf("%T", randomLeaf(r))] = true
	}
	for keyword, f := range keywords {
		var q Query
		switch {
		case f == filterKind, f == filterLine:
			continue // a part of other leaves
		case f.newLeaf != nil && f.words != nil:
			q = f.newLeaf(f.words[0], Span{})
		case f.newLeaf != nil:
			q = f.newLeaf("a", Span{})
		case f.value == valueSetting:
			continue
		default:
			q = &Text{}
		}
		if !made[fmt.Sprintf("%T", q)] {
			t.Errorf("%s: makes a %T, which no random tree has", keyword, q)
		}
	}
}

// evaluateTree evaluates a tree with truth as the value of each leaf.
func evaluateTree(q Query, truth func(leaf Query) bool) bool {
	switch q := q.(type) {
	case *And:
		return !slices.ContainsFunc(q.Children, func(c Query) bool { return !evaluateTree(c, truth) })
	case *Or:
		return slices.ContainsFunc(q.Children, func(c Query) bool { return evaluateTree(c, truth) })
	case *Not:
		return !evaluateTree(q.Child, truth)
	case *Const:
		return q.Value
	case *Archived:
		return q.Want == Yes || truth(q)
	case *Fork:
		return q.Want == Yes || truth(q)
	case *Visibility:
		return q.Want == Any || truth(q)
	}
	return truth(q)
}

// TestSimplifyKeepsMeaning evaluates random trees and their simplified forms under random
// truth values, and checks that the result is simple and the tree unchanged.
func TestSimplifyKeepsMeaning(t *testing.T) {
	for seed := range uint64(5_000) {
		r := rand.New(rand.NewPCG(seed, 5))
		q := randomTree(r, 4)
		before := dumpTree(q)
		simple := Simplify(q)
		if dumpTree(q) != before {
			t.Fatalf("Simplify changed %s to %s", before, dumpTree(q))
		}
		if again := Simplify(simple); !Equal(again, simple) {
			t.Fatalf("%s is not simple, but %s", dumpTree(simple), dumpTree(again))
		}
		checkSimple(t, simple)
		for range 8 {
			salt := r.Uint64()
			truth := func(leaf Query) bool { return hashString(dumpTree(leaf), salt)%2 == 0 }
			if evaluateTree(q, truth) != evaluateTree(simple, truth) {
				t.Fatalf("seed %d: %s\nis not %s", seed, before, dumpTree(simple))
			}
		}
	}
}

func checkSimple(t *testing.T, simple Query) {
	t.Helper()
	Walk(simple, func(q Query) bool {
		for _, child := range childrenOf(q) {
			_, constant := child.(*Const)
			if constant || fmt.Sprintf("%T", q) == fmt.Sprintf("%T", child) {
				t.Fatalf("%s below %s", dumpTree(child), dumpTree(q))
			}
		}
		return true
	})
}

func hashString(s string, salt uint64) uint64 {
	h := salt
	for _, c := range []byte(s) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h >> 32
}

func TestWalkAndMap(t *testing.T) {
	q := mustParse(t, "a (b or -c) file:d").Root
	var seen []string
	Walk(q, func(q Query) bool {
		seen = append(seen, dumpTree(q))
		_, not := q.(*Not)
		return !not
	})
	want := []string{dumpTree(q), `"a"`, `or("b" not("c"))`, `"b"`, `not("c")`, "file/d/"}
	if !slices.Equal(seen, want) {
		t.Errorf("Walk saw %q, want %q", seen, want)
	}
	mapped := Map(q, func(q Query) Query {
		if text, ok := q.(*Text); ok {
			return &Text{Pattern: text.Pattern + "!", Case: text.Case}
		}
		return q
	})
	if got := mapped.String(); got != "a! (b! or -c!) file:d" {
		t.Errorf("Map gives %s, want \"a! (b! or -c!) file:d\"", got)
	}
	if got := q.String(); got != "a (b or -c) file:d" {
		t.Errorf("Map changed the tree to %s, want \"a (b or -c) file:d\"", got)
	}
}

func TestHasRevision(t *testing.T) {
	for text, want := range map[string]bool{"a": false, "a rev:x": true, "a or (b -branch:x)": true, "revision": false} {
		if got := HasRevision(mustParse(t, text).Root); got != want {
			t.Errorf("HasRevision(%s) = %t, want %t", text, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	for text, want := range map[string][]string{
		"foo":                    {"foo"},
		"  foo bar ":             {"foo bar", "foo", "bar"},
		`a or (b c) -file:"d e"`: {`a or (b c) -file:"d e"`, "a", `b c) -file:"d e"`, "b c", "b", "c", `-file:"d e"`, `file:"d e"`},
		"not not a":              {"not not a", "not a", "a"},
	} {
		var got []string
		Walk(mustParse(t, text).Root, func(q Query) bool {
			got = append(got, text[q.Span().Start:q.Span().End])
			return true
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: spans %q, want %q", text, got, want)
		}
	}
}

func mustParse(t *testing.T, text string) *Parsed {
	t.Helper()
	parsed, err := Parse(text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
