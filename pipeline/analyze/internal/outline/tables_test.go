package outline

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-enry/go-enry/v2/data"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TestTablesCompile checks every table with compileTable: words are spelled
// correctly, and patterns can be parsed.
func TestTablesCompile(t *testing.T) {
	for _, table := range tables {
		t.Run(table.languages, func(t *testing.T) { compileTable(table) })
	}
}

// repositoryRoot is the directory with the documentation.
const repositoryRoot = "../../../.."

// TestDocumentation checks that the files named in docs/adding-a-language.md exist, and
// that docs/languages.md lists the existing languages.
func TestDocumentation(t *testing.T) {
	page := readPage(t, "docs/adding-a-language.md")
	paths := regexp.MustCompile("`([a-z]+/[a-zA-Z0-9_/.-]+)`").FindAllStringSubmatch(page, -1)
	if len(paths) < 8 {
		t.Errorf("docs/adding-a-language.md names %d files; want the steps to name theirs", len(paths))
	}
	for _, m := range paths {
		path := strings.NewReplacer("lang_NAME", "lang_thrift", "outline/NAME", "outline/thrift").Replace(m[1])
		if _, err := os.Stat(filepath.Join(repositoryRoot, path)); err != nil {
			t.Errorf("docs/adding-a-language.md names %s: %v", m[1], err)
		}
	}
	rules := regexp.MustCompile(`\{match: "([^"]*)", kind: "(\w*)"`).FindAllStringSubmatch(page, -1)
	if len(rules) < 3 {
		t.Fatalf("docs/adding-a-language.md shows %d rules", len(rules))
	}
	example := &table{}
	for _, m := range rules {
		example.rules = append(example.rules, rule{match: m[1], kind: code.SymbolKind(m[2])})
	}
	compileTable(example) // panics on an invalid pattern

	listed := readPage(t, "docs/languages.md")
	for _, language := range allLanguages() {
		if !strings.Contains(listed, "\n| "+language) && !strings.Contains(listed, ", "+language) {
			t.Errorf("docs/languages.md does not list %s", language)
		}
	}
}

// allLanguages returns the names of all languages with symbols.
func allLanguages() []string {
	var all []string
	for language := range grammars {
		all = append(all, string(language))
	}
	for language := range tablesByLanguage {
		all = append(all, string(language))
	}
	slices.Sort(all)
	return all
}

// TestLanguageNames compares the language names in tables with those assigned to files.
func TestLanguageNames(t *testing.T) {
	for _, language := range allLanguages() {
		if _, ok := data.IDByLanguage[language]; !ok {
			t.Errorf("go-enry knows no language %q", language)
		}
	}
}

func readPage(t *testing.T, path string) string {
	text, err := os.ReadFile(filepath.Join(repositoryRoot, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
