package docscheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
)

// quotedResult matches the first line of a result of a search that a page shows, with the
// file in this repository.
var quotedResult = regexp.MustCompile(`(?m)^quarry:(\S+)\n(\d+):(.*)$`)

// TestQuotedResults checks that the results in the README are those of this tree.
func TestQuotedResults(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	results := quotedResult.FindAllStringSubmatch(string(readme), -1)
	if len(results) == 0 {
		t.Error("README.md shows no result of a search in this repository")
	}
	for _, r := range results {
		text, err := os.ReadFile(filepath.Join(root, r[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		lines := strings.Split(string(text), "\n")
		if n, _ := strconv.Atoi(r[2]); n < 1 || n > len(lines) || lines[n-1] != r[3] {
			t.Errorf("README.md shows %s:%s: %s, which is not that line", r[1], r[2], r[3])
		}
	}
}

// readSource returns the Go source of the program, without tests.
func readSource(t *testing.T) string {
	t.Helper()
	var source strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		source.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return source.String()
}

// logLines matches text that quotes messages of the log: "the log lines `a`, `b` and `c`",
// "logs `a`", "`a` in the log", and the first column of a table of lines.
var logLines = []*regexp.Regexp{
	regexp.MustCompile("(?:[Ll]og lines?|The line|[Ll]ogs|[Ll]og says|logged) \\(?((?:`[^`\n]+`(?:, until |, and |, | and | or )?)+)"),
	regexp.MustCompile("(`[^`]+`)\\*{0,2} in the log"),
	regexp.MustCompile("(?m)^\\| ((?:`[a-z][^`|]* [^`|]*`(?:, )?)+) \\| (?:ingest|pipeline|query) \\|"),
}

// TestLogLines looks up the log messages that the pages quote in the source.
func TestLogLines(t *testing.T) {
	source, quoted := readSource(t), regexp.MustCompile("`([^`]+)`")
	found := 0
	for name, p := range readPages(t) {
		if strings.HasPrefix(name, "docs/adr/") || strings.HasPrefix(name, "docs/format/") || name == "CHANGELOG.md" {
			continue // what was true then, and names of events
		}
		for i, pattern := range logLines {
			text := p.Text
			if i < 2 { // a paragraph may be wrapped anywhere
				text = strings.Join(strings.Fields(text), " ")
			}
			for _, m := range pattern.FindAllStringSubmatch(text, -1) {
				for _, line := range quoted.FindAllStringSubmatch(m[1], -1) {
					if found++; !strings.Contains(source, "\""+line[1]) {
						t.Errorf("%s quotes the log line %q, which the program does not write", name, line[1])
					}
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("%d quoted log lines, want at least 30: the patterns of this test no longer match the pages", found)
	}
}

// TestSharesOfSettings compares figures such as "1/6 of `query.timeout` (3.3 s)" with the
// default of the setting.
func TestSharesOfSettings(t *testing.T) {
	share := regexp.MustCompile("1/([0-9]+)(?: of `query\\.timeout`)? \\(([0-9.]+) (s|ms)\\)")
	found := 0
	for name, p := range readPages(t) {
		for _, m := range share.FindAllStringSubmatch(strings.Join(strings.Fields(p.Text), " "), -1) {
			found++
			parts, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			have, err := time.ParseDuration(m[2] + m[3])
			if err != nil {
				t.Fatal(err)
			}
			want := time.Duration(config.Default().Query.Timeout) / time.Duration(parts)
			if (have - want).Abs() > want/20 {
				t.Errorf("%s: %s, but 1/%d of query.timeout is %v by default", name, m[0], parts, want)
			}
		}
	}
	if found == 0 {
		t.Error("no share of query.timeout is found: the pattern of this test no longer matches the pages")
	}
}
