package code_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

func TestParseRevisionName(t *testing.T) {
	full := strings.Repeat("ab", 20)
	for _, tc := range []struct{ in, want string }{
		{"HEAD", "head"},
		{"HEAD~3^2", "head steps ~3^2"},
		{"main", "refs/heads/main refs/tags/main"},
		{"release/1.x", "refs/heads/release/1.x refs/tags/release/1.x"},
		{"refs/heads/main^", "refs/heads/main steps ^"},
		{"tags/v1", "refs/heads/tags/v1 refs/tags/tags/v1 refs/tags/v1"},
		{"v1.0~", "refs/heads/v1.0 refs/tags/v1.0 steps ~"},
		{"beef", "refs/heads/beef refs/tags/beef commit beef"},
		{"BEEF", "refs/heads/BEEF refs/tags/BEEF commit beef"},
		{"bee", "refs/heads/bee refs/tags/bee"},
		{full + "~1", "refs/heads/" + full + " refs/tags/" + full + " full " + full + " steps ~1"},
		{"größe", "refs/heads/größe refs/tags/größe"},
	} {
		n, err := code.ParseRevisionName(tc.in)
		if got := printName(n); err != nil || got != tc.want {
			t.Errorf("%q: got %s, %v; want %s", tc.in, got, err, tc.want)
		}
	}
}

func printName(n code.RevisionName) string {
	var words []string
	if n.Head {
		words = append(words, "head")
	}
	for _, r := range n.Refs {
		words = append(words, string(r))
	}
	switch {
	case n.IsFullCommit():
		words = append(words, "full "+n.Commit)
	case n.Commit != "":
		words = append(words, "commit "+n.Commit)
	}
	if n.Steps != "" {
		words = append(words, "steps "+n.Steps)
	}
	return strings.Join(words, " ")
}

// hostileNames must never reach git as a revision.
var hostileNames = []string{
	"", "-", "--upload-pack=touch x", "--output=/etc/passwd", "-p", "../../etc/passwd", "a/../b", "main\x00", "main\n", "a b", strings.Repeat("a", 100_000),
	"HEAD:../x", "HEAD:Makefile", "main:", ":/text", ":0:file", "@{-1}", "HEAD@{1}", "main@{upstream}", "main@{yesterday}", "^main", "main..other", "main...other",
	"main^{commit}", "main^{/text}", "main^{}", "main^@", "main^!", "main^-", "main~x", "main~99999999999999999999", "main" + strings.Repeat("^", 17),
	"refs/heads/", "refs/heads/.x", "refs/heads/a.lock", "a/-/b", "a/-", "refs/heads/-b", "refs/tags/--x", "a\xe4", "*", "ma?n", "[a]", "a\\b", "/main", "main/", "a//b", ".", "..", "refs", "a:b", "@{u}",
}

func TestParseRevisionNameRefuses(t *testing.T) {
	for _, in := range hostileNames {
		if in == "refs" {
			continue // a valid branch name
		}
		if n, err := code.ParseRevisionName(in); !errors.Is(err, code.ErrRevisionName) {
			t.Errorf("%.40q: got %s, %v; want ErrRevisionName", in, printName(n), err)
		}
	}
}

func FuzzParseRevisionName(f *testing.F) {
	for _, in := range append(hostileNames[:10:10], "main~1", "HEAD^2", "beef") {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		n, err := code.ParseRevisionName(in)
		if err != nil {
			return
		}
		for _, r := range n.Refs {
			if r.Validate() != nil {
				t.Errorf("%q: ref %q", in, r)
			}
		}
		if strings.Trim(n.Steps, "~^0123456789") != "" || strings.Trim(n.Commit, "0123456789abcdef") != "" {
			t.Errorf("%q: %s", in, printName(n))
		}
	})
}

func ExampleSpellPath() {
	fmt.Println(code.SpellPath("caf\xe9/größe.txt"))
	// Output: caf\xe9/größe.txt
}
