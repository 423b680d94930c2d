package plan

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/projections/postings"
)

// TestPatterns prints the conditions derived from a pattern. Commands: exact and fold,
// with the regular expression as input.
func TestPatterns(t *testing.T) {
	datadriven.RunTest(t, "testdata/patterns", func(t *testing.T, d *datadriven.TestData) string {
		p, err := Regexp(strings.TrimSuffix(d.Input, "\n"), d.Cmd == "fold")
		if err != nil {
			return err.Error() + "\n"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "exact=%v multiline=%v keepcr=%v\n", p.Exact, p.Multiline, p.KeepCR)
		if !p.Exact {
			fmt.Fprintf(&b, "expression %s\n", p.Expression)
		}
		for _, set := range p.Sets {
			fmt.Fprintf(&b, "one of %q\n", set)
		}
		if p.IsWord() {
			fmt.Fprintf(&b, "word start=%v end=%v\n", p.WordStart, p.WordEnd)
		}
		if p.Prefixes != nil {
			fmt.Fprintf(&b, "begins with one of %q\n", p.Prefixes)
		}
		if p.Run.Bytes > 0 {
			fmt.Fprintf(&b, "run of %d\n", p.Run.Bytes)
		}
		return b.String()
	})
}

// randomExpression returns a random regular expression over a small alphabet, so that it
// matches often.
func randomExpression(rng *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "c", "k", "S", "é", "[ab]", "[^a]", ".", `\w`, `\s`, `\b`, "^", "$", "abc", "[0-9]", `\d`, "ſ", "[a-z]", `\(`,
		`\n`, "\n", `[\n\r]`, `[a\x{a}]`, `(?s:.)`, `\r`, "\ufffd", `\x{fffd}a`, "abc$", `\pL`, "[^\\n]", `\z`, `\A`}
	if depth == 0 {
		return atoms[rng.IntN(len(atoms))]
	}
	sub := func() string { return randomExpression(rng, depth-1) }
	switch rng.IntN(8) {
	case 0:
		return "(" + sub() + "|" + sub() + ")"
	case 1:
		return "(?:" + sub() + ")" + []string{"*", "+", "?", "??", "{2}", "{1,3}", "{5,}"}[rng.IntN(7)]
	case 2:
		return "(?i:" + sub() + ")"
	default:
		return sub() + sub()
	}
}

func randomText(rng *rand.Rand) string {
	pieces := []string{"a", "b", "c", "abc", "k", "K", "K", "s", "ſ", "é", "É", "0", "12345", " ", "(", "\xff", "ab", "A", "\n", "\r\n", "\r", "\ufffd"}
	var b strings.Builder
	for range rng.IntN(30) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()
}

// matchSpans returns the texts that an expression matches, by a plain scan that follows
// the rules of the package documentation.
func matchSpans(p *Pattern, reference *regexp.Regexp, text string) []string {
	var all []string
	if !p.Multiline {
		for line := range strings.SplitSeq(text, "\n") {
			if !p.KeepCR {
				line = strings.TrimSuffix(line, "\r")
			}
			all = append(all, reference.FindAllString(line, -1)...)
		}
		return all
	}
	var read []byte
	var from []int // offsets in text of the bytes of read
	for i := range len(text) {
		if p.KeepCR || text[i] != '\r' || !strings.HasPrefix(text[i:], "\r\n") {
			read, from = append(read, text[i]), append(from, i)
		}
	}
	for _, loc := range reference.FindAllIndex(read, -1) {
		if loc[0] < loc[1] {
			all = append(all, text[from[loc[0]]:from[loc[1]-1]+1])
		}
	}
	return all
}

// checkSuperset checks invariants 1 and 2 for every match of an expression.
func checkSuperset(t *testing.T, expression string, fold bool, text string) {
	t.Helper()
	p, err := Regexp(expression, fold)
	if err != nil {
		return
	}
	flags := "(?m"
	if fold {
		flags += "i"
	}
	reference, err := regexp.Compile(flags + ":" + expression + ")")
	if err != nil {
		return
	}
	for _, m := range matchSpans(p, reference, text) {
		if m == "" {
			continue
		}
		seen := m
		if p.Fold {
			seen = string(postings.AppendFold(nil, []byte(m)))
		}
		for _, set := range p.Sets {
			if !slices.ContainsFunc(set, func(s string) bool { return strings.Contains(seen, s) }) {
				t.Fatalf("%q (fold %v) matches %q, which has none of %q", expression, fold, m, set)
			}
		}
		if p.Exact && !slices.Contains(p.Sets[0], seen) {
			t.Fatalf("%q (fold %v) matches %q, which is none of %q", expression, fold, m, p.Sets[0])
		}
		if p.Prefixes != nil && !slices.ContainsFunc(p.Prefixes, func(s string) bool {
			return strings.HasPrefix(strings.ReplaceAll(seen, "\r\n", "\n"), s) || strings.HasPrefix(seen, s)
		}) {
			t.Fatalf("%q (fold %v) matches %q, which begins with none of %q", expression, fold, m, p.Prefixes)
		}
		if p.Foreign && isASCII(m) {
			t.Fatalf("%q (fold %v) matches %q, which is ASCII", expression, fold, m)
		}
		if p.Run.Bytes > 0 && !hasRun(m, p.Run) {
			t.Fatalf("%q matches %q, which has no run of %d", expression, m, p.Run.Bytes)
		}
	}
}

func hasRun(s string, r Run) bool {
	n := 0
	for i := range len(s) {
		if n++; !r.Class[s[i]] {
			n = 0
		}
		if n >= r.Bytes {
			return true
		}
	}
	return false
}

func TestPatternIsSuperset(t *testing.T) {
	for seed := range uint64(5_000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		checkSuperset(t, randomExpression(rng, 3), rng.IntN(2) == 0, randomText(rng))
	}
}

func TestNamesLineFeed(t *testing.T) {
	for expression, want := range map[string]bool{
		`a\nb`: true, "a\nb": true, `\x0A`: true, `\x{00a}`: true, `\012`: true, `(?s)a.b`: true, `[\n]`: true, `[a\n]`: true, `[]\n]`: true,
		"[\n\r]": true, `[[:alpha:]\n]`: true, `[\x{0A}b]`: true, `[ab]|\Q[\n]\E|[c\x0a]`: true, `[\]\n]`: true,
		`a`: false, `[^\n]`: false, `[^]\n]`: false, `\s`: false, `[\s]`: false, `[^a]`: false, `.`: false, `[a\\n]`: false, `\Q[\n]\E[ab]`: false,
		`\[\\n]`: false, `[\t-\r]`: false, `\x{aa}`: false, `[ab](?-s:.)`: false, `a|[^a]`: false, `(?i)([[:upper:]]|[^a])`: false, `(?i-s:a|[^a])`: false, `(?ims).`: true, `[a-z]\\n`: false,
	} {
		p, err := Regexp(expression, false)
		if err != nil {
			t.Fatal(err)
		}
		if p.Multiline != want {
			t.Errorf("%q: multi-line %v, want %v", expression, p.Multiline, want)
		}
	}
}

func FuzzPatternIsSuperset(f *testing.F) {
	f.Add(`(kmalloc|kzalloc)\(`, true, "x = KMALLOC(3)")
	f.Add(`[0-9]{16}`, false, "1234567890123456789")
	f.Add(`spin_lock.*flags`, true, "SPIN_LOCK(a, flags)")
	f.Add(`foo$\nbar[\n]x`, false, "foo\r\nbar\r\nx")
	f.Add("a\ufffdb", true, "A\xffb")
	f.Fuzz(func(t *testing.T, expression string, fold bool, text string) {
		if len(expression) > 200 || len(text) > 2000 {
			return
		}
		checkSuperset(t, expression, fold, text)
	})
}
