package outline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

var (
	corpusFlag  = flag.String("outline.corpus", "", "LANGUAGE=DIRECTORY: compare with universal-ctags over these files only")
	corporaFlag = flag.String("outline.corpora", "", "a directory with one for each language, named as it is with underscores for blanks: compare all")
	missesFlag  = flag.Int("outline.misses", 0, "print up to this many disagreements of each kind")
)

// TestOracle compares the symbols of files found on this machine with those of
// universal-ctags. A pair agrees on file, line, name and group of kinds.
func TestOracle(t *testing.T) {
	t.Parallel()
	ctags := requireCtags(t)
	if *corpusFlag != "" {
		language, dir, _ := strings.Cut(*corpusFlag, "=")
		compare(t, ctags, corpus{language: code.Language(language), dir: dir, files: 1 << 20}).log(t)
		return
	}
	for _, c := range append(corpora(t), furtherCorpora()...) {
		t.Run(string(c.language), func(t *testing.T) {
			if _, err := os.Stat(c.dir); err != nil {
				skip(t, fmt.Sprintf("corpus %s is missing", c.dir))
			}
			score := compare(t, ctags, c)
			if len(score) == 0 {
				skip(t, fmt.Sprintf("corpus %s has no %s files", c.dir, c.language))
			}
			score.log(t)
			score.check(t, c.floors)
		})
	}
}

func requireCtags(t *testing.T) string {
	path, err := exec.LookPath("ctags")
	if err == nil {
		out, _ := exec.Command(path, "--version").Output()
		if bytes.Contains(out, []byte("Universal Ctags")) && bytes.Contains(out, []byte("+json")) {
			return path
		}
	}
	skip(t, "universal-ctags with JSON output is missing")
	return ""
}

// skip skips the test, or fails it if everything is required.
func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// corpus is a set of files of one language and the agreement that it must reach.
type corpus struct {
	language code.Language
	dir      string
	files    int // maximum number of files, spread evenly
	floors   map[string]floor
}

type floor struct{ recall, precision float64 }

func corpora(t *testing.T) []corpus {
	// These corpora exist on every development machine. docs/languages.md contains the
	// figures for larger corpora. A floor of 0 means none: ctags names other things.
	return []corpus{
		{"C", "/usr/include/linux", 300, map[string]floor{"type": {0.97, 0.97}, "macro": {0.99, 0.99}, "member": {0.95, 0.97}, "enumerator": {0.97, 0.97}}},
		{"C++", "/usr/include/c++", 200, map[string]floor{"function": {0.97, 0.96}, "macro": {0.97, 0.95}}},
		{"Go", goSource(t), 400, map[string]floor{"function": {0.99, 0.99}, "type": {0.99, 0.99}, "variable": {0.98, 0.98}}},
		{"Python", "/usr/lib/python3", 300, map[string]floor{"function": {0.98, 0.99}, "type": {0.99, 0.99}, "variable": {0.95, 0.93}}},
		{"JavaScript", "/usr/lib/node_modules", 300, map[string]floor{"function": {0.95, 0}}},
		{"Shell", "/usr/share", 100, map[string]floor{"function": {0.90, 0.90}}},
	}
}

// handFloors are the floors of the languages with hand-written grammars whose sources are
// not on every development machine.
var handFloors = map[code.Language]map[string]floor{
	"C#":         {"function": {0.99, 0.97}, "type": {0.99, 0.97}, "member": {0.98, 0.98}, "namespace": {0.99, 0.99}, "enumerator": {0.99, 0.99}},
	"Java":       {"function": {0.99, 0.99}, "type": {0.99, 0.99}, "member": {0.99, 0.99}, "enumerator": {0.98, 0.99}},
	"PHP":        {"function": {0.99, 0.99}, "type": {0.99, 0.99}, "variable": {0.97, 0.99}, "namespace": {0.99, 0.99}},
	"Ruby":       {"function": {0.99, 0.99}, "type": {0.97, 0.99}, "variable": {0.96, 0.99}},
	"Rust":       {"function": {0.95, 0.97}, "type": {0.91, 0.92}, "enumerator": {0.98, 0.98}, "member": {0.93, 0.95}, "macro": {0.95, 0.95}},
	"TypeScript": {"function": {0.98, 0}, "type": {0.97, 0.96}, "member": {0.94, 0.85}},
}

// extensions and ctagsNames map languages to the files to read and to the names that
// ctags uses.
var (
	extensions = map[code.Language][]string{
		"C": {".c", ".h"}, "C++": {".cc", ".cpp", ".hpp", ".h", ".cxx"}, "Go": {".go"}, "Java": {".java"},
		"JavaScript": {".js", ".jsx", ".mjs"}, "TypeScript": {".ts"}, "Python": {".py"}, "Rust": {".rs"},
		"Ruby": {".rb"}, "PHP": {".php"}, "C#": {".cs"}, "Shell": {".sh"},
		// The languages that ctags does not read are used only to measure speed.
		"Dart": {".dart"}, "F#": {".fs"}, "GraphQL": {".graphql"}, "Groovy": {".groovy"}, "HCL": {".tf"}, "Nix": {".nix"}, "Scala": {".scala"},
		"Solidity": {".sol"}, "Svelte": {".svelte"}, "Swift": {".swift"}, "Thrift": {".thrift"}, "TOML": {".toml"}, "Vue": {".vue"}, "YAML": {".yml", ".yaml"}, "Zig": {".zig"},
	}
	ctagsNames = map[code.Language]string{"Shell": "Sh"}
)

// groups maps kinds, in the vocabulary of ctags and in ours, to the groups that are
// compared.
var groups = map[string]string{
	"function": "function", "method": "function", "func": "function", "singletonMethod": "function",
	"generator": "function", "getter": "function", "setter": "function",
	"class": "type", "struct": "type", "union": "type", "enum": "type", "interface": "type", "trait": "type",
	"typedef": "type", "type": "type", "alias": "type", "talias": "type", "annotation": "type", "module": "type",
	"macro": "macro", "member": "member", "field": "member", "property": "member",
	"enumerator": "enumerator", "enumConstant": "enumerator", "namespace": "namespace", "package": "namespace",
	"variable": "variable", "var": "variable", "constant": "variable", "const": "variable", "define": "variable",
	"methodSpec": "methodSpec",
}

type key struct {
	file  string
	line  int
	name  string
	group string
}

func lineOf(k key) key { return key{file: k.file, line: k.line} }

type tally struct{ both, onlyCtags, onlyOurs int }

type scores map[string]*tally

func compare(t *testing.T, ctags string, c corpus) scores {
	files := pick(c)
	if len(files) == 0 {
		return nil
	}
	theirs := runCtags(t, ctags, c.language, files)
	ours, anonymous := map[key]bool{}, map[key]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		symbols, err := Extract(c.language, text, time.Time{})
		if err != nil && !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", file, err)
		}
		checkInvariants(t, text, symbols)
		unread := membersOfAnonymous(c.language, symbols)
		for i, s := range symbols {
			name, group := s.Name, groups[string(s.Kind)]
			if o, ok := oracles[c.language]; ok {
				if group = oracleGroup(o.ours, string(s.Kind)); group == "" {
					continue
				}
			} else if group == "" {
				group = string(s.Kind)
			}
			if c.language == "PHP" && s.Kind == "property" {
				group = "variable" // the kind that ctags uses
			}
			k := key{file, comparedLine(c.language, int(s.Line)), spelling(c.language, name), group}
			ours[k] = true
			if unread[i] {
				anonymous[k] = true
			}
		}
	}
	result := scores{}
	at := func(group string) *tally {
		if result[group] == nil {
			result[group] = &tally{}
		}
		return result[group]
	}
	var misses, extras []key
	macroLines := map[key]bool{}
	for k := range theirs {
		if c.language == "C" || c.language == "C++" {
			if k.group == "function" && upperCase([]byte(k.name)) {
				macroLines[lineOf(k)] = true
				continue // ctags uses the name of a macro for the function that it defines
			}
		}
		if ours[k] {
			at(k.group).both++
		} else {
			at(k.group).onlyCtags++
			misses = append(misses, k)
		}
	}
	for k := range ours {
		if !theirs[k] && !macroLines[lineOf(k)] && !anonymous[k] {
			at(k.group).onlyOurs++
			extras = append(extras, k)
		}
	}
	show(t, "only ctags", misses)
	show(t, "only ours", extras)
	return result
}

// membersOfAnonymous returns the indexes of members of anonymous classes, of which ctags
// finds only some: their parent is a type that does not enclose them.
func membersOfAnonymous(language code.Language, symbols []code.Symbol) map[int]bool {
	if language != "Java" && language != "Kotlin" && language != "PHP" {
		return nil
	}
	found := map[int]bool{}
	var open []code.Symbol
	for i, s := range symbols {
		for len(open) > 0 && open[len(open)-1].EndLine < s.Line {
			open = open[:len(open)-1]
		}
		if (s.ParentKind == "class" || s.ParentKind == "enumerator") && !slices.ContainsFunc(open, func(o code.Symbol) bool { return o.Name == s.Parent }) {
			found[i] = true
		}
		if s.EndLine != 0 {
			open = append(open, s)
		}
	}
	return found
}

func show(t *testing.T, what string, keys []key) {
	slices.SortFunc(keys, func(a, b key) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	perGroup := map[string]int{}
	total := map[string]int{}
	for _, k := range keys {
		total[k.group]++
	}
	for i, k := range keys {
		// Spread the differences shown over the corpus.
		if step := max(1, total[k.group]/max(1, *missesFlag)); i%step == 0 && perGroup[k.group] < *missesFlag {
			perGroup[k.group]++
			t.Logf("%s: %s %s:%d %s", what, k.group, k.file, k.line, k.name)
		}
	}
}

func pick(c corpus) []string {
	var all []string
	dir, err := filepath.EvalSymlinks(c.dir)
	if err != nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && hasExtension(c.language, path) {
			all = append(all, path)
		}
		return nil
	})
	if len(all) <= c.files {
		return all
	}
	picked := make([]string, 0, c.files)
	for i := range c.files {
		picked = append(picked, all[i*len(all)/c.files])
	}
	return picked
}

// comparedLine returns the line by which symbols are compared, or 0 if ctags reports a
// different one.
func comparedLine(language code.Language, line int) int {
	if atOtherLine(language) {
		return 0
	}
	return line
}

func hasExtension(language code.Language, path string) bool {
	if o, ok := oracles[language]; ok {
		list := strings.Fields(o.extensions)
		return slices.Contains(list, filepath.Ext(path)) || slices.Contains(list, filepath.Base(path))
	}
	return slices.Contains(extensions[language], filepath.Ext(path))
}

// spelling returns the form of a name that is compared: without blanks, and without parts
// that one side omits.
func spelling(language code.Language, name string) string {
	name = strings.ReplaceAll(name, " ", "")
	switch language {
	case "Erlang":
		name = strings.Trim(name, "'")
	case "Haskell":
		if first, _, path := strings.Cut(name, "."); path {
			name = first // ctags reports the first part of a module's name
		}
	case "R":
		name = strings.Trim(name, "`\"'")
	case "CSS", "SCSS":
		name = strings.TrimLeft(name, ".#%$@")
	case "Objective-C":
		name, _, _ = strings.Cut(name, ":") // the first part of a selector
	case "Pascal", "Lua", "Julia", "Perl", "SQL", "Elixir":
		name = name[strings.LastIndexAny(name, ".:")+1:]
	}
	return name
}

func runCtags(t *testing.T, ctags string, language code.Language, files []string) map[key]bool {
	name := string(language)
	if n := ctagsNames[language]; n != "" {
		name = n
	}
	if o := oracles[language]; o.ctags != "" {
		name = o.ctags
	}
	args := []string{"--options=NONE", "--output-format=json", "--fields=NFnKzs", "--language-force=" + name, "-L", "-", "-f", "-"}
	if kinds := oracles[language].kinds; kinds != "" {
		args = append(args, "--kinds-"+name+"="+kinds)
	}
	cmd := exec.Command(ctags, args...)
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	tags, sources, last := map[key]bool{}, sourceLines{}, key{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var tag struct {
			Name, Path, Kind, Scope, ScopeKind string
			Line                               int
		}
		if json.Unmarshal(lines.Bytes(), &tag) != nil || strings.HasPrefix(tag.Name, "__anon") || strings.HasPrefix(tag.Name, "AnonymousFunction") ||
			isUnnamed(language, tag.Name, tag.Kind, tag.ScopeKind) || isMistaken(language, tag.Kind, sources.formatLine(tag.Path, tag.Line)) {
			continue
		}
		if k, ok := normalize(language, tag.Kind, tag.Name); ok {
			if repeated := (key{file: tag.Path, name: k.name, group: k.group}); byClause(language) && repeated == last {
				continue // another clause of the same function
			} else {
				last = repeated
			}
			for _, k := range splitSelector(language, tag.Name, k) {
				tags[key{tag.Path, comparedLine(language, tag.Line), k.name, k.group}] = true
			}
		}
	}
	return tags
}

// normalize maps a tag's kind to its group and its name to our spelling. It returns false
// for kinds that are not definitions.
func normalize(language code.Language, kind, name string) (key, bool) {
	if o, ok := oracles[language]; ok {
		group := oracleGroup(o.theirs, kind)
		return key{name: spelling(language, name), group: group}, group != ""
	}
	group := groups[kind]
	if group == "" {
		return key{}, false
	}
	if language == "Python" && kind == "member" {
		group = "function"
	}
	switch language {
	case "JavaScript":
		// ctags treats an object literal as a class and counts all its entries.
		if group == "type" || group == "member" || group == "variable" || strings.HasPrefix(name, "[") {
			return key{}, false
		}
	case "PHP", "C#":
		if kind == "alias" || kind == "typedef" {
			return key{}, false // an import
		}
	}
	if language == "C#" && group != "namespace" {
		name = name[strings.LastIndexByte(name, '.')+1:] // an explicit interface implementation
	}
	return key{name: strings.ReplaceAll(name, " ", ""), group: group}, true
}

func (s scores) log(t *testing.T) {
	names := make([]string, 0, len(s))
	for group := range s {
		names = append(names, group)
	}
	slices.Sort(names)
	for _, group := range names {
		recall, precision := s[group].ratios()
		t.Logf("%-12s recall %.4f precision %.4f (both %d, only ctags %d, only ours %d)", group, recall, precision, s[group].both, s[group].onlyCtags, s[group].onlyOurs)
	}
}

func (t *tally) ratios() (recall, precision float64) {
	both := float64(t.both)
	return both / max(1, both+float64(t.onlyCtags)), both / max(1, both+float64(t.onlyOurs))
}

func (s scores) check(t *testing.T, floors map[string]floor) {
	for group, f := range floors {
		if s[group] == nil {
			continue
		}
		recall, precision := s[group].ratios()
		if recall < f.recall || precision < f.precision {
			t.Errorf("%s: recall %.4f, precision %.4f; want at least %.2f and %.2f", group, recall, precision, f.recall, f.precision)
		}
	}
}

// goSource returns the source directory of Go's standard library.
func goSource(t testing.TB) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("the go command is missing")
	}
	if err != nil {
		t.Fatal("the go command is missing: ", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src")
}
