package search

import (
	"crypto/sha1"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestExplain says of queries on a small corpus how they are run. Commands:
//
//	segment          seal a segment; each line of input is "repository path language text"
//	search [matches=n]
func TestExplain(t *testing.T) {
	m := &model{}
	datadriven.RunTest(t, "testdata/explain", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "segment":
			m.script(t, d.Input)
			return ""
		case "search":
			matches := 1000
			d.MaybeScanArgs(t, "matches", &matches)
			r, err := newSearcher(Options{}).Search(t.Context(), m, Request{Query: parse(t, d.Input), Matches: matches, Explain: true, Related: true})
			if err != nil {
				return err.Error()
			}
			return printExplain(r)
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

// script adds a segment of one document for each line of input.
func (m *model) script(t *testing.T, input string) {
	t.Helper()
	lines := strings.Split(input, "\n")
	b := segment.NewBuilder(segment.Options{Seed: []byte{byte(len(m.segments))}})
	places := segment.NewPlacesBuilder(len(lines))
	for i, line := range lines {
		fields := strings.SplitN(line, " ", 4)
		text := []byte(strings.ReplaceAll(fields[3], `\n`, "\n"))
		key := code.DocumentKey{Blob: sha1.Sum(fmt.Append(text, i)), Language: code.Language(fields[2])}
		if err := b.Add(segment.Document{Key: key, Text: text, Symbols: modelSymbols(text), Flags: code.FlagASCII}); err != nil {
			t.Fatal(err)
		}
		places.Add(segment.DocID(i), m.repository(fields[0]), segment.NoRef, 0, fields[1])
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

// repository returns the index of the repository with that name, and creates it if there
// is none.
func (m *model) repository(name string) uint32 {
	for i, r := range m.repos {
		if r.Name == name {
			return uint32(i)
		}
	}
	id := code.RepositoryID(len(m.repos) + 1)
	m.repos = append(m.repos, &Repository{Repository: code.Repository{ID: id, Name: name, DefaultBranch: "main"}})
	return uint32(len(m.repos) - 1)
}

// printExplain formats the explanation without the parts that differ from run to run.
func printExplain(r *Result) string {
	var b strings.Builder
	e := r.Explain
	fmt.Fprintf(&b, "query %s\n", e.Query)
	for _, a := range e.Atoms {
		fmt.Fprintf(&b, "atom %s\n", a)
	}
	for i, s := range e.Segments {
		fmt.Fprintf(&b, "segment %d: blocks %d of %d documents, considered %d, matches %d\n", i, s.CandidateBlocks, s.Documents, s.FilesConsidered, s.Matches)
	}
	if e.Stopped != StopNone {
		fmt.Fprintf(&b, "stopped %s\n", e.Stopped)
	}
	for _, p := range e.Probes {
		fmt.Fprintf(&b, "probe %s: %d matches\n", p.Query, p.Matches)
	}
	for _, f := range r.Files {
		fmt.Fprintf(&b, "file %s %s: %v\n", f.Repo.Name, f.Path, f.Reasons)
	}
	return b.String()
}
