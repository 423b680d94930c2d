package navigate_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestMeaning runs the scripts of testdata/meaning on the real engine and the real outline.
//
//	file REPOSITORY/PATH   adds a file
//	means                  for each line "REPOSITORY/PATH:LINE:NAME", where the name is
//	                       defined, the first three; NAME#2 is its second occurrence in the line
//	uses                   the same for references, all of them; with text, those in text too,
//	                       with enclosing, the function or type around each
//	implements             for each line "NAME KEY=VALUE ...", or with a position as for means, the
//	                       types that implement it
//	hover                  the same as for means, with the description of the symbol
//	symbols                for each line "REPOSITORY KEY=VALUE ...", what is listed
func TestMeaning(t *testing.T) {
	datadriven.Walk(t, "testdata/meaning", func(t *testing.T, path string) {
		var c scripted
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				repo, file, _ := strings.Cut(d.CmdArgs[0].Key, "/")
				c.add(repo, file, d.Input+"\n")
				return ""
			case "means", "uses":
				var b strings.Builder
				for line := range strings.Lines(d.Input) {
					b.WriteString(c.ask(t, d.Cmd, strings.TrimSpace(line), navigate.Request{IncludeText: d.HasArg("text"), IncludeEnclosing: d.HasArg("enclosing")}))
				}
				return b.String()
			}
			switch d.Cmd {
			case "implements":
				return c.listImplementations(t, d.Input)
			case "hover":
				return c.describe(t, d.Input)
			case "symbols":
				return c.list(t, d.Input)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// scripted is a corpus built by a script.
type scripted struct {
	files  []scriptedFile
	corpus *testCorpus
}

type scriptedFile struct{ repo, path, text string }

func (c *scripted) add(repo, path, text string) {
	c.files = append(c.files, scriptedFile{repo, path, text})
	c.corpus = nil
}

// view seals the files into a segment.
func (c *scripted) view(t *testing.T) *testCorpus {
	if c.corpus != nil {
		return c.corpus
	}
	analyzer := analyze.New(analyze.Options{OutlineTimeout: -1})
	b := segment.NewBuilder(segment.Options{Seed: []byte("meaning")})
	c.corpus = &testCorpus{refs: []code.Ref{"refs/heads/main"}}
	numbers := map[string]uint32{}
	for i, f := range c.files {
		if _, ok := numbers[f.repo]; !ok {
			numbers[f.repo] = uint32(len(c.corpus.repos))
			c.corpus.repos = append(c.corpus.repos, &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(len(numbers)), Name: f.repo, DefaultBranch: "main"}})
		}
		r := analyzer.Document(f.path, []byte(f.text))
		key := code.DocumentKey{Language: r.Language}
		copy(key.Blob[:], fmt.Sprintf("%020d", i))
		if err := b.Add(segment.Document{Key: key, Text: r.Text, Symbols: r.Symbols}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "segment")
	if _, err := b.Finish(path); err != nil {
		t.Fatal(err)
	}
	opened, err := segment.OpenFile(path, segment.NewCache(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	places := segment.NewPlacesBuilder(opened.Documents())
	for i, f := range c.files {
		places.Add(segment.DocID(i), numbers[f.repo], segment.NoRef, 0, f.path)
	}
	c.corpus.main = corpus.Segment{Reader: opened.Reader, Places: places.Build()}
	c.corpus.every = c.corpus.main
	return c.corpus
}

// ask answers one line of a script.
func (c *scripted) ask(t *testing.T, command, question string, r navigate.Request) string {
	c.locate(t, question, &r)
	n := newNavigator()
	find, most := n.Definitions, 3
	if command == "uses" {
		find, most = n.References, 100
	}
	found, err := find(t.Context(), c.view(t), r)
	if err != nil {
		return fmt.Sprintf("%s: %v\n", question, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", question)
	for _, f := range found.Files {
		for _, m := range f.Matches {
			if most--; most < 0 {
				break
			}
			fmt.Fprintf(&b, "  %s %s %s/%s:%d:%d %s\n", m.Relation, m.Role, f.Repo.Name, f.Path, m.Range.Start.LineNumber, m.Range.Start.Column, strings.TrimSpace(string(m.Line)))
			if d := m.Enclosing; d != nil {
				fmt.Fprintf(&b, "    in %s %s of %q, line %d\n", d.Kind, d.Name, d.Parent, d.Line)
			}
		}
	}
	for _, notice := range found.Notices {
		fmt.Fprintf(&b, "  %s\n", notice.Message)
	}
	if found.TextMatches > 0 {
		fmt.Fprintf(&b, "  %d in text\n", found.TextMatches)
	}
	return b.String()
}

func newNavigator() *navigate.Navigator {
	return navigate.New(search.New(search.Options{MaxDuration: 10 * time.Hour}), analyze.Outline{Timeout: -1})
}

// locate sets the symbol and the position of a request.
func (c *scripted) locate(t *testing.T, question string, r *navigate.Request) {
	t.Helper()
	parts := strings.Split(question, ":")
	if len(parts) != 3 {
		t.Fatalf("%q: want REPOSITORY/PATH:LINE:NAME", question)
	}
	repo, path, _ := strings.Cut(parts[0], "/")
	line, err := strconv.Atoi(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	name, nth, _ := strings.Cut(parts[2], "#")
	r.Symbol, r.Position = name, &navigate.Position{Repository: repo, Path: path, Line: line}
	if nth != "" {
		r.Position.Column = c.columnOf(t, repo, path, line, name, nth)
	}
}

// listImplementations answers lines that name a type.
func (c *scripted) listImplementations(t *testing.T, input string) string {
	var b strings.Builder
	for line := range strings.Lines(input) {
		var r navigate.Request
		fields := strings.Fields(line)
		if r.Symbol = fields[0]; strings.Contains(fields[0], ":") {
			c.locate(t, fields[0], &r)
		}
		for _, field := range fields[1:] {
			key, value, _ := strings.Cut(field, "=")
			*map[string]*string{"repo": &r.Repository, "lang": &r.Language}[key] = value
		}
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(line))
		found, err := newNavigator().Implementations(t.Context(), c.view(t), r)
		if err != nil {
			fmt.Fprintf(&b, "  %v\n", err)
			continue
		}
		matches := 0
		for _, f := range found.Files {
			for _, m := range f.Matches {
				matches++
				fmt.Fprintf(&b, "  %s/%s:%d:%d %s\n", f.Repo.Name, f.Path, m.Range.Start.LineNumber, m.Range.Start.Column, strings.TrimSpace(string(m.Line)))
			}
		}
		if matches != found.Matches || !found.Exhaustive {
			fmt.Fprintf(&b, "  %d of %d, exhaustive: %t\n", matches, found.Matches, found.Exhaustive)
		}
		for _, notice := range found.Notices {
			fmt.Fprintf(&b, "  %s\n", notice.Message)
		}
	}
	return b.String()
}

// describe answers lines with a position with the description of its symbol.
func (c *scripted) describe(t *testing.T, input string) string {
	var b strings.Builder
	for line := range strings.Lines(input) {
		var r navigate.Request
		c.locate(t, strings.TrimSpace(line), &r)
		d, err := newNavigator().Describe(t.Context(), c.view(t), r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(line))
		if f := d.Definition; f != nil {
			fmt.Fprintf(&b, "  %s/%s:%d\n  %q\n  %q\n", f.Repo.Name, f.Path, f.Matches[0].Range.Start.LineNumber, d.Signature, d.Documentation)
		}
		for _, notice := range d.Notices {
			fmt.Fprintf(&b, "  %s\n", notice.Message)
		}
	}
	return b.String()
}

// columnOf returns the column of the nth occurrence of a name in a line.
func (c *scripted) columnOf(t *testing.T, repo, path string, line int, name, nth string) int {
	n, err := strconv.Atoi(nth)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.files {
		if f.repo != repo || f.path != path {
			continue
		}
		text := strings.Split(f.text, "\n")[line-1]
		at := 0
		for ; n > 0; n-- {
			i := strings.Index(text[at:], name)
			if i < 0 {
				t.Fatalf("%s:%d: no %s#%s", path, line, name, nth)
			}
			at += i + 1
		}
		return len([]rune(text[:at]))
	}
	t.Fatalf("no file %s", path)
	return 0
}

// list answers lines that select symbols.
func (c *scripted) list(t *testing.T, input string) string {
	n := newNavigator()
	var b strings.Builder
	for line := range strings.Lines(input) {
		fields := strings.Fields(line)
		r := navigate.SymbolsRequest{Repository: fields[0]}
		for _, field := range fields[1:] {
			key, value, _ := strings.Cut(field, "=")
			*map[string]*string{"path": &r.Path, "prefix": &r.Prefix, "kind": &r.Kind, "parent": &r.Parent}[key] = value
		}
		found, err := n.Symbols(t.Context(), c.view(t), r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n  %v\n", strings.TrimSpace(line), found.CountKinds())
		for _, s := range found.Symbols {
			fmt.Fprintf(&b, "  %s:%d:%d %s %s %s\n", s.Path, s.Start.LineNumber, s.Start.Column, s.Symbol.Kind, s.Symbol.Name, s.Symbol.Parent)
		}
	}
	return b.String()
}
