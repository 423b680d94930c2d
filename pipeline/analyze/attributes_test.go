package analyze

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/seedtest"
)

func TestAttributes(t *testing.T) {
	yes, no := Override{Generated: Yes}, Override{Generated: No}
	for _, c := range []struct {
		text, path string
		want       Override
	}{
		{"*.h linguist-language=C++", "a/b.h", Override{Language: "C++"}},
		{"*.h linguist-language=cpp", "b.h", Override{Language: "C++"}},
		{"*.x linguist-language=Jupyter-Notebook", "b.x", Override{Language: "Jupyter Notebook"}},
		{"*.x linguist-language=emacs-lisp", "b.x", Override{Language: "Emacs Lisp"}},
		{"*.x linguist-language=no-such", "b.x", Override{}},
		{"*.x linguist-language=C\n*.x linguist-language", "b.x", Override{}},
		{"*.x linguist-language=C\n*.x -linguist-language", "b.x", Override{}},
		{"*.x linguist-generated", "b.x", yes},
		{"*.x linguist-generated=true", "b.x", yes},
		{"*.x -linguist-generated", "b.x", no},
		{"*.x linguist-generated=false", "b.x", no},
		{"*.x linguist-generated\n*.x !linguist-generated", "b.x", Override{}},
		{"*.x linguist-generated linguist-generated=false", "b.x", no},
		{"a linguist-vendored linguist-documentation linguist-detectable", "d/a", Override{Vendored: Yes, Documentation: Yes}},
		{"a linguist-vendored=false -linguist-documentation", "d/a", Override{Vendored: No, Documentation: No}},
		{"\ufeff*.x linguist-generated", "b.x", yes},
		{"*.x linguist-generated\r\n*.y linguist-generated\r\n", "b.y", yes},
		{"\xff\xfe*.x linguist-generated", "b.x", Override{}},
		{"  \t*.x\t linguist-generated  \t", "b.x", yes},
		{"#*.x linguist-generated", "#b.x", Override{}},
		{`"a b" linguist-generated`, "a b", yes},
		{`"a\"\303\274" linguist-generated`, `a"ü`, yes},
		{`"a b linguist-generated`, "a b", Override{}},
		{"!b.x linguist-generated", "b.x", Override{}},
		{"*.x linguist-generated bad/name", "b.x", Override{}},
		{"[attr]mine linguist-generated\n*.x mine", "b.x", yes},
		{"*.x mine\n[attr]mine linguist-generated linguist-language=Go", "b.x", Override{Generated: Yes, Language: "Go"}},
		{"[attr]mine -linguist-generated\n*.x mine", "b.x", no},
		{"[attr]mine linguist-generated\n*.x mine\n*.x -linguist-generated", "b.x", no},
		{"[attr]mine linguist-generated\n*.x -linguist-generated\n*.x mine", "b.x", yes},
		{"[attr]mine linguist-generated\n*.x -linguist-generated mine", "b.x", yes},
		{"[attr]mine linguist-generated\n*.x mine -linguist-generated", "b.x", no},
		{"[attr]mine linguist-generated\n*.x -mine", "b.x", Override{}},
		{"[attr]mine linguist-generated\n*.x mine=true", "b.x", Override{}},
		{"[attr]mine linguist-generated\n*.x mine\n*.x !mine", "b.x", Override{}},
		{"[attr]mine linguist-generated\n[attr]mine -linguist-generated\n*.x mine", "b.x", no},
		{"[attr]mine linguist-generated\n[attr]mine\n*.x mine", "b.x", Override{}},
		{"[attr]inner linguist-generated\n[attr]mine inner linguist-vendored\n*.x mine", "b.x", Override{Generated: Yes, Vendored: Yes}},
		{"[attr]mine mine linguist-generated\n*.x mine", "b.x", yes},
		{`"[attr]mine" linguist-generated` + "\n*.x mine", "b.x", yes},
		{"[attr]bad/name linguist-generated\n*.x bad/name", "b.x", Override{}},
		{"[attr]linguist-vendored linguist-generated\n*.x linguist-vendored", "b.x", Override{Generated: Yes, Vendored: Yes}},
		{"*.x binary linguist-generated text eol=lf", "b.x", yes},
		{"dir/ linguist-generated", "dir/b.x", Override{}},
		{"dir/** linguist-generated", "dir/a/b.x", yes},
		{"**/a/*.x linguist-generated", "a/b.x", yes},
		{"a/**/b.x linguist-generated", "a/b.x", yes},
		{"a/*/b.x linguist-generated", "a/c/d/b.x", Override{}},
		{strings.Repeat("x", 2030) + " linguist-generated", strings.Repeat("x", 2030), Override{}},
	} {
		f, err := ParseAttributes([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		var a *Attributes
		if got := a.Within("", f).Classify(c.path); got != c.want {
			t.Errorf("%.100q classifies %.100q as %+v, want %+v", c.text, c.path, got, c.want)
		}
	}
}

// TestMacrosOfTheRoot checks that macros are defined in the root only, and count in every
// directory.
func TestMacrosOfTheRoot(t *testing.T) {
	parse := func(text string) *AttributesFile {
		f, err := ParseAttributes([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var none *Attributes
	root := none.Within("", parse("[attr]mine linguist-generated\n*.x mine"))
	for _, c := range []struct {
		what string
		a    *Attributes
		want Ruling
	}{
		{"the root's", root, Yes},
		{"a directory's use", none.Within("", parse("[attr]mine linguist-generated")).Within("d/", parse("*.x mine")), Yes},
		{"a directory's definition", root.Within("d/", parse("[attr]mine -linguist-generated\n*.x mine")), Yes},
		{"a directory's definition alone", none.Within("d/", parse("[attr]mine linguist-generated\n*.x mine")), Unruled},
		{"a directory that unsets it", root.Within("d/", parse("*.x -mine")), Unruled},
	} {
		if got := c.a.Classify("d/b.x").Generated; got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

func TestOverrideFlags(t *testing.T) {
	for _, c := range []struct {
		o            Override
		before, want code.Flags
	}{
		{Override{}, code.FlagGenerated, code.FlagGenerated},
		{Override{Generated: No, Vendored: Yes}, code.FlagGenerated | code.FlagTest, code.FlagVendored | code.FlagTest},
		{Override{Documentation: Yes}, 0, code.FlagDocumentation},
		{Override{Documentation: No}, 0, code.FlagNoDocumentation},
	} {
		if got := c.o.Apply(c.before); got != c.want {
			t.Errorf("%+v makes flags %b of %b, want %b", c.o, got, c.before, c.want)
		}
	}
}

// TestAttributesBounds checks that hostile files have no effect, and that a pattern for
// which git needs exponential time takes a bounded number of steps.
func TestAttributesBounds(t *testing.T) {
	line := []byte("*.x linguist-generated\n")
	for _, content := range [][]byte{bytes.Repeat(line, maxAttributeRules+1), bytes.Repeat([]byte("#"), MaxAttributesBytes+1)} {
		if f, err := ParseAttributes(content); f != nil || !errors.Is(err, errAttributes) {
			t.Errorf("%d bytes: %v, %v; want an error", len(content), f, err)
		}
	}
	hostile := []byte(strings.Repeat("a*", 900) + "b linguist-generated\n")
	f, err := ParseAttributes(bytes.Repeat(hostile, 400))
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	steps := maxMatchSteps
	long := strings.Repeat("a", code.MaxPathBytes)
	if f.rules[0].pattern.matches(long, &steps); steps > 0 || steps < -2*maxAttributeLine {
		t.Errorf("one pattern leaves %d of %d steps, want it to stop at 0", steps, maxMatchSteps)
	}
	var a *Attributes
	if got := a.Within("", f).Classify(long); got != (Override{}) {
		t.Errorf("a path that needs too many steps is classified as %+v", got)
	}
	others := "*.x" + strings.Repeat(" a", 900) + "\n"
	if f, err = ParseAttributes([]byte("*.x linguist-generated\n" + strings.Repeat(others, 400))); err != nil || f == nil {
		t.Fatal(f, err)
	}
	if got := a.Within("", f).Classify("y.x"); got != (Override{}) {
		t.Errorf("360,000 attributes that are no macros take less than %d steps: %+v", maxMatchSteps, got)
	}
}

// TestAttributesLikeGit compares the attributes of random files with those that git
// check-attr prints.
func TestAttributesLikeGit(t *testing.T) {
	rng := rand.New(rand.NewPCG(seedtest.ChooseSeed(t), 0))
	for round := range 40 {
		dir := t.TempDir()
		files := writeRandomTree(t, rng, dir)
		want := checkAttributes(t, dir, files)
		directories := map[string]*Attributes{"": nil}
		for _, name := range files {
			got := attributesOf(t, dir, path.Dir(name)+"/", directories).Classify(name)
			if got != want[name] {
				t.Fatalf("round %d: %q is %+v, but git says %+v\n%s", round, name, got, want[name], attributeTexts(t, dir))
			}
		}
	}
}

// attributesOf returns the attributes of a directory of dir.
func attributesOf(t *testing.T, root, dir string, known map[string]*Attributes) *Attributes {
	if dir == "./" {
		dir = ""
	}
	if a, ok := known[dir]; ok && dir != "" {
		return a
	}
	var above *Attributes
	if dir != "" {
		above = attributesOf(t, root, path.Dir(strings.TrimSuffix(dir, "/"))+"/", known)
	}
	var f *AttributesFile
	if info, err := os.Lstat(filepath.Join(root, dir, AttributesName)); err == nil && info.Mode().IsRegular() {
		content, err := os.ReadFile(filepath.Join(root, dir, AttributesName))
		if err != nil {
			t.Fatal(err)
		}
		if f, err = ParseAttributes(content); err != nil {
			t.Fatal(err)
		}
	}
	known[dir] = above.Within(dir, f)
	return known[dir]
}

// attributeTexts returns the files of attributes in a directory, for the message of a
// failure.
func attributeTexts(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == AttributesName {
			content, _ := os.ReadFile(name)
			fmt.Fprintf(&b, "%s: %q\n", strings.TrimPrefix(name, dir), content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// writeRandomTree writes files with short names and attributes, and returns the paths of
// the files.
func writeRandomTree(t *testing.T, rng *rand.Rand, dir string) []string {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	names := []string{"a", "b", "ab", "a.x", "b.x", "a b", "]", "-", "a-b", "\\", "ü", "[a]", "a*b", "#a", "!a", "A1"}
	var files []string
	directories := []string{""}
	for range 60 {
		var parts []string
		for range rng.IntN(4) {
			parts = append(parts, pick("a", "b", "ab", "c", "a.x"))
		}
		files = append(files, path.Join(append(parts, pick(names...))...))
	}
	slices.Sort(files)
	files = slices.DeleteFunc(slices.Compact(files), func(name string) bool {
		if os.MkdirAll(filepath.Join(dir, path.Dir(name)), 0o755) != nil || os.WriteFile(filepath.Join(dir, name), nil, 0o644) != nil {
			return true // it is a directory, or below a file
		}
		directories = append(directories, path.Dir(name))
		return false
	})
	element := func() string {
		var b strings.Builder
		for range 1 + rng.IntN(4) {
			b.WriteString(pick("a", "b", "*", "**", "***", "?", ".x", "[ab]", "[!a]", "[^a-b]", "[]-]", "[a", "[[:alpha:]]", "[[:nope:]]", "[\\]]", "[a-\\b]", "[[:a]",
				"\\*", "\\", "ü", "\\a", "-", "c", "#", "!", "A", "[[:digit:]1]"))
		}
		return b.String()
	}
	pattern := func() string {
		var parts []string
		for range 1 + rng.IntN(3) {
			parts = append(parts, pick(element(), element(), "**", "*", "a", "b", "ab"))
		}
		p := pick("", "", "", "/", "**/") + strings.Join(parts, "/") + pick("", "", "", "", "/", "/**", "/*")
		if rng.IntN(8) == 0 {
			p = pick(`"a b"`, `"a\tb"`, `"\141"`, `"a`, `"`+strings.ReplaceAll(p, `\`, `\\`)+`"`)
		}
		return p
	}
	for range 1 + rng.IntN(4) {
		var b strings.Builder
		b.WriteString(pick("", "", "", "\ufeff", "\xff"))
		for range 1 + rng.IntN(6) {
			b.WriteString(pick("", "", " ", "\t", "# ") + pick(pattern(), pattern(), pattern(), pattern(), "[attr]mine", "[attr]other", `"[attr]mine"`, "[attr]linguist-vendored"))
			for range rng.IntN(4) {
				b.WriteString(pick(" ", "  ", "\t") + pick("linguist-language=Go", "linguist-language=C++", "-linguist-language", "!linguist-language", "linguist-language=none-such",
					"linguist-generated", "-linguist-generated", "!linguist-generated", "linguist-generated=false", "linguist-generated=true", "linguist-generated=0",
					"linguist-vendored", "-linguist-vendored", "linguist-documentation", "-linguist-documentation=x", "linguist-detectable=false", "mine", "mine", "mine", "-mine", "!mine", "mine=true", "other", "other", "-other", "binary", "text", "-bad/name", "eol=lf"))
			}
			b.WriteString(pick("\n", "\n", "\n", "\r\n", "\n\n"))
		}
		name := filepath.Join(dir, pick(directories...), AttributesName)
		if rng.IntN(10) == 0 {
			_ = os.Remove(name)
			target := filepath.Join(dir, "a", "target")
			if os.MkdirAll(filepath.Dir(target), 0o755) != nil || os.WriteFile(target, []byte(b.String()), 0o644) != nil || os.Symlink(target, name) != nil {
				continue
			}
		} else if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// checkAttributes returns what git says about files.
func checkAttributes(t *testing.T, dir string, files []string) map[string]Override {
	git := func(stdin string, args ...string) []byte {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "core.attributesFile=/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_ATTR_NOSYSTEM=1", "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return out
	}
	git("", "init", "--quiet")
	out := git(strings.Join(files, "\x00")+"\x00", "check-attr", "--stdin", "-z", "linguist-language", "linguist-generated", "linguist-vendored", "linguist-documentation")
	found := map[string]Override{}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for ; len(fields) >= 3; fields = fields[3:] {
		o := found[fields[0]]
		ruling := Yes
		switch fields[2] {
		case "unspecified":
			ruling = Unruled
		case "unset", "false":
			ruling = No
		}
		switch fields[1] {
		case "linguist-language":
			if ruling == Yes && fields[2] != "set" {
				o.Language = languageOfAlias(fields[2])
			}
		case "linguist-generated":
			o.Generated = ruling
		case "linguist-vendored":
			o.Vendored = ruling
		case "linguist-documentation":
			o.Documentation = ruling
		}
		found[fields[0]] = o
	}
	return found
}
