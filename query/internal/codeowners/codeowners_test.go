package codeowners

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestReadRules checks the rules of CODEOWNERS, as GitHub and GitLab document them.
func TestReadRules(t *testing.T) {
	const file = `# comment
*        @default
*.js     @js-owner #comment
/build/  @ops
docs/*   docs@example.com
apps/    @octocat
/scripts/**/run @ops  @Octocat
deep/lib @lib
/apps/github
with\ blank/ @blank
[bad     @nobody
!*.js    @nobody
`
	const sections = `[Docs] @writers
docs/
docs/api @api
^[Database][2]
*.sql @dba
docs/schema.sql @architect
`
	for _, c := range []struct{ text, owner, owned, others string }{
		{file, "@default", "README a/b.go docs/x/y.md apps.go", "a/x.js build/x docs/x.md apps/x deep/lib/x apps/github/x"},
		{file, "js-owner", "x.js a/b/x.js docs/x/y.js", "x.jsx build/x.js docs/x.js apps/x.js"},
		{file, "@ops", "build/a build/a/b.js scripts/run scripts/a/b/run", "src/build/a x/scripts/run"},
		{file, "docs@example.com", "docs/x.md docs/x.js", "docs/a/b.md a/docs/x.md"},
		{file, "@octocat", "apps/x x/apps/y/z scripts/run", "apps/github apps/github/x.js apps"},
		{file, "@lib", "deep/lib deep/lib/a", "x/deep/lib deep/library"},
		{file, "@blank", "with blank/x", "blank/x with/x"},
		{file, "@nobody", "", "x.js bad"},
		{file, "", "README x.js", "apps/github"},
		{sections, "@writers", "docs/a docs/b/c docs/schema.sql", "docs/api a.sql"},
		{sections, "@api", "docs/api docs/api/x", "docs/a"},
		{sections, "@dba", "a.sql x/b.sql", "docs/schema.sql"},
		{sections, "", "docs/a a.sql", "x.go"},
		{"/vendor/** @v\n", "@v", "vendor/a vendor/a/b", "vendor x/vendor/a"},
		{"a*\n/** @v\n/b\n", "@v", "a c/d", "b b/c"},
	} {
		m := NewMatcher(ReadRules(c.text, c.owner))
		for i, paths := range []string{c.owned, c.others} {
			for _, path := range strings.Fields(strings.ReplaceAll(paths, "with blank", "with_blank")) {
				if path = strings.ReplaceAll(path, "with_blank", "with blank"); m.Owns(path) != (i == 0) {
					t.Errorf("%q owns %s: %t", c.owner, path, i != 0)
				}
			}
		}
	}
}

// TestPaths compares rules without wildcards with their regular expressions.
func TestPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 37))
	randomPath := func(parts ...string) (path string) {
		for range 1 + rng.IntN(6) {
			path += parts[rng.IntN(len(parts))]
		}
		return path
	}
	held := 0
	for range 20000 {
		written, path := randomPath("a", "b", "/", "/", ".c"), strings.Trim(randomPath("a", "b", "/", "a/", ".c"), "/")
		rule := newRule(written)
		if strings.Trim(written, "/") == "" {
			continue
		}
		if strings.Contains(strings.Trim(written, "/"), "/") {
			written = "/" + strings.TrimPrefix(written, "/")
		}
		want, err := regexp.MatchString(patternOf(written), path)
		if got := holdsPath(&rule, "/"+path+"/"); err != nil || got != want {
			t.Fatalf("%q holds for %q: %t, want %t: %v", written, path, got, want, err)
		}
		if want {
			held++
		}
	}
	if held < 500 {
		t.Errorf("only %d rules hold for their paths", held)
	}
}
