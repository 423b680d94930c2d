package syntax

import (
	"regexp"
	"strings"
	"testing"
)

func TestGlobs(t *testing.T) {
	for glob, cases := range map[string]struct{ matches, others string }{
		"*.go":          {"a.go dir/a.go", "a.gob go a.go/x"},
		"/*.go":         {"a.go", "dir/a.go"},
		"./a.go":        {"a.go x/a.go", "ba.go"},
		"src/*.ts":      {"src/a.ts x/src/a.ts", "mysrc/a.ts src/b/a.ts"},
		"src/**/*.ts":   {"src/a.ts src/b/a.ts src/b/c/a.ts", "src/a.tsx"},
		"**/*_test.go":  {"a_test.go x/a_test.go", "a.go"},
		"*.{ts,tsx}":    {"a.ts a.tsx", "a.tss a.js"},
		"{a,b{c,d}}.go": {"a.go bc.go bd.go", "b.go"},
		"[a-c].go":      {"a.go x/c.go", "d.go ab.go"},
		"[!a-c].go":     {"d.go", "a.go"},
		"[a^].go":       {"^.go a.go", "b.go"},
		"a?c":           {"abc", "a/c ac"},
		"docs/":         {"docs/a docs/b/c", "docs"},
		`\*.go`:         {"*.go", "a.go"},
		"a+b(1).txt":    {"a+b(1).txt", "aab1.txt"},
		"Makefile":      {"Makefile x/Makefile", "Makefile.am"},
		"wärme*":        {"wärme.txt", "warme.txt"},
		"a,b}":          {"a,b}", "a"},
	} {
		expression, err := GlobRegexp(glob)
		if err != nil {
			t.Errorf("%s: %v", glob, err)
			continue
		}
		re := regexp.MustCompile(expression)
		for path := range strings.FieldsSeq(cases.matches) {
			if !re.MatchString(path) {
				t.Errorf("%s (%s) does not match %s", glob, expression, path)
			}
		}
		for path := range strings.FieldsSeq(cases.others) {
			if re.MatchString(path) {
				t.Errorf("%s (%s) matches %s", glob, expression, path)
			}
		}
	}
	for _, glob := range []string{"{a", "[a", "[]", "[z-a]", "{a,{b}"} {
		if expression, err := GlobRegexp(glob); err == nil {
			t.Errorf("%s is %s", glob, expression)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, glob := range []string{"*.go", "**/[a-z]{x,y}", `\`, "[!", "}{"} {
		f.Add(glob)
	}
	f.Fuzz(func(t *testing.T, glob string) {
		expression, err := GlobRegexp(glob)
		if err != nil {
			return
		}
		if _, err := regexp.Compile(expression); err != nil {
			t.Errorf("%q is %q: %v", glob, expression, err)
		}
	})
}

// TestGlobValues checks which filter values are globs: values that are more likely
// expressions are not.
func TestGlobValues(t *testing.T) {
	for value, want := range map[string]bool{
		"*.go": true, "**/testdata/*.txt": true, "src/*.go": true, "src/**": true, "*kettle*": true, "*.{go,ts}": true, "/*.go": true,
		"foo.*": false, ".*foo": false, "^src/*x": false, `\.go$`: false, "a*b": false, "(a|b)/*": false, "[a-z]*": false, "[a-z]*/**": false, "go": false, "a/*+": false,
	} {
		if got := isGlob(value); got != want {
			t.Errorf("%s: %t, want %t", value, got, want)
		}
	}
}
