package match

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestNameFilter compares the filter of names with package regexp for random patterns and names.
func TestNameFilter(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 7))
	draw := func(parts []string, n int) (out string) {
		for range n {
			out += parts[rng.IntN(len(parts))]
		}
		return out
	}
	letters := []string{"a", "A", "b", "k", "K", "s", "-", "/", "\u212a", "\u017f", "é", "@", "`", " ", "["}
	expressions := []string{"^", "$", "a", "A", "k", "s", "b", `\.`, ".", "-", "/", "é", "(a|b)", "(?i)", "(?-i)", "[ab]", "a*", `\b`, "@", "`", `\[`, " "}
	matched := 0
	for range 200_000 {
		pattern, isFolded := draw(expressions, rng.IntN(5)), rng.IntN(2) == 0
		flags := ""
		if isFolded {
			flags = "(?i)"
		}
		re, err := regexp.Compile(flags + pattern)
		if err != nil {
			continue
		}
		name := draw(letters, rng.IntN(6))
		want := re.MatchString(name)
		if got := nameFilter(re, pattern, isFolded)(name); got != want {
			t.Fatalf("%q, ignoring case %v: %q matches: %v, want %v", pattern, isFolded, name, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 10_000 {
		t.Errorf("only %d names matched", matched)
	}
}

func BenchmarkNameFilter(b *testing.B) {
	for _, pattern := range []string{`acme/repo0001`, `^linux$`, `repo.*0001`, `(acme|initech)/repo0`} {
		re := regexp.MustCompile("(?i)" + pattern)
		for name, matches := range map[string]func(string) bool{"regexp": re.MatchString, "filter": nameFilter(re, pattern, true)} {
			b.Run(pattern+"/"+name, func(b *testing.B) {
				for b.Loop() {
					matches("github.example.com/acme/repo4711-service")
				}
			})
		}
	}
}
