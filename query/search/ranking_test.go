package search

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestRanking checks which files come first for queries on a small corpus, and why.
// Commands:
//
//	repository name=… [archived] [fork] [pushed=year]
//	segment          seal a segment; each line of input is "repository path flags language text",
//	                 where flags are - or some of test,vendored,generated; the word after
//	                 func, class, def, struct or var is a symbol, and \n a line break
//	search [matches=n] [display=n]
//	lines [matches=n] [display=n]
//	                 the lines shown of each file, and which of them are the best
func TestRanking(t *testing.T) {
	m := &model{}
	datadriven.RunTest(t, "testdata/ranking", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "repository":
			m.describeRanking(t, d)
			return ""
		case "segment":
			m.rankingSegment(t, d.Input)
			return ""
		case "search":
			return m.rankAnswer(t, d)
		case "lines":
			return m.bestLines(t, d)
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func (m *model) describeRanking(t *testing.T, d *datadriven.TestData) {
	name, year := "", 0
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "pushed", &year)
	r := m.repos[m.repository(name)]
	r.Archived, r.Fork = d.HasArg("archived"), d.HasArg("fork")
	if year > 0 {
		r.PushedAt = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	}
}

var definition = regexp.MustCompile(`\b(func|class|def|struct|var) (?:\((\w+)\) )?(\w+)`)

var kindOf = map[string]code.SymbolKind{"func": "function", "def": "function", "class": "class", "struct": "struct", "var": "variable"}

func findDefinitions(text []byte) (out []code.Symbol) {
	for _, at := range definition.FindAllSubmatchIndex(text, -1) {
		s := code.Symbol{
			Name: string(text[at[6]:at[7]]), Kind: kindOf[string(text[at[2]:at[3]])], Offset: uint32(at[6]),
			Line: uint32(strings.Count(string(text[:at[6]]), "\n")) + 1,
		}
		if at[4] >= 0 { // func (Parent) name
			s.Parent, s.ParentKind = string(text[at[4]:at[5]]), "struct"
		}
		out = append(out, s)
	}
	return out
}

func (m *model) rankingSegment(t *testing.T, input string) {
	t.Helper()
	lines := strings.Split(input, "\n")
	b := segment.NewBuilder(segment.Options{Seed: []byte{byte(len(m.segments))}})
	places := segment.NewPlacesBuilder(len(lines))
	for i, line := range lines {
		f := strings.SplitN(line, " ", 5)
		text := []byte(strings.ReplaceAll(f[4], `\n`, "\n"))
		var flags code.Flags
		if bytes.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) < 0 {
			flags = code.FlagASCII
		}
		for name, flag := range map[string]code.Flags{"test": code.FlagTest, "vendored": code.FlagVendored, "generated": code.FlagGenerated} {
			if strings.Contains(f[2], name) {
				flags |= flag
			}
		}
		key := code.DocumentKey{Blob: sha1.Sum(fmt.Append(text, i)), Language: code.Language(f[3])}
		if err := b.Add(segment.Document{Key: key, Text: text, Symbols: findDefinitions(text), Flags: flags}); err != nil {
			t.Fatal(err)
		}
		places.Add(segment.DocID(i), m.repository(f[0]), segment.NoRef, 0, f[1])
	}
	path := filepath.Join(t.TempDir(), "segment")
	if _, err := b.Finish(path); err != nil {
		t.Fatal(err)
	}
	f, err := segment.OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	m.segments = append(m.segments, Segment{Reader: f.Reader, Places: places.Build()})
}

func (m *model) bestLines(t *testing.T, d *datadriven.TestData) string {
	request := Request{Query: parse(t, d.Input), Matches: 1000}
	d.MaybeScanArgs(t, "matches", &request.Matches)
	d.MaybeScanArgs(t, "display", &request.Display)
	r, err := newSearcher(Options{}).Search(t.Context(), m, request)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, f := range r.Files {
		var shown []int
		for _, c := range f.Chunks {
			for _, at := range c.Ranges {
				shown = append(shown, at.Start.LineNumber)
			}
		}
		fmt.Fprintf(&b, "%s: lines %v, best %v\n", f.Path, slices.Compact(shown), f.BestLines)
	}
	return b.String()
}

func (m *model) rankAnswer(t *testing.T, d *datadriven.TestData) string {
	request := Request{Query: parse(t, d.Input), Matches: 1000, Explain: true}
	d.MaybeScanArgs(t, "matches", &request.Matches)
	d.MaybeScanArgs(t, "display", &request.Display)
	r, err := newSearcher(Options{}).Search(t.Context(), m, request)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, f := range r.Explain.Files {
		fmt.Fprintf(&b, "%.0f %s %s: %s\n", f.Score, f.Repository, f.Path, strings.Join(f.Reasons, ", "))
	}
	if r.Stopped != StopNone {
		fmt.Fprintf(&b, "%s: %d matches\n", r.Stopped, r.Stats.Matches)
	}
	return b.String()
}

// TestRareTermsWeighMore searches for two terms, one of which is in every file. The file
// with more of the other term comes first.
func TestRareTermsWeighMore(t *testing.T) {
	m := &model{}
	var lines strings.Builder
	lines.WriteString("host/a a.go - Go manyWord;\\nmanyWord;\\nmanyWord;\\nrareWord\n")
	lines.WriteString("host/a b.go - Go manyWord;\\nrareWord;\\nrareWord;\\nrareWord\n")
	for i := range 50 {
		fmt.Fprintf(&lines, "host/a filler%d.go - Go manyWord %s\n", i, strings.Repeat(fmt.Sprintf("filler%d ", i), 100))
	}
	m.rankingSegment(t, strings.TrimSpace(lines.String()))
	r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: parse(t, "manyWord rareWord"), Matches: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range r.Files {
		paths = append(paths, f.Path)
	}
	if !slices.Equal(paths, []string{"b.go", "a.go"}) {
		t.Errorf("files %v, want b.go, which has more of the rare term, before a.go", paths)
	}
}
