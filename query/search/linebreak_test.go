package search

import (
	"fmt"
	"testing"

	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestPathsWithLineBreaks finds a file whose name has a line break, which the table of
// places stores as NUL, by each way to write it.
func TestPathsWithLineBreaks(t *testing.T) {
	m := &searchtest.Model{}
	m.AddSources(t, "host/a line\x00break.txt - Text word\nhost/a line_break.txt - Text word\nhost/a line\x00 - Text word")
	s := newSearcher(Options{})
	for query, want := range map[string]string{
		"type:file \"line\nbreak\"": "1 [0:10]",
		"file:\"e\nb\"":             "1 [3:6]",
		`file:line\nbreak`:          "1 [0:10]",
		`file:e[\n]b`:               "1 [3:6]",
		`file:line\\nbreak`:         "0 []",
		"word file:\"line\nbreak\"": "1 []",
	} {
		r, err := s.Search(t.Context(), m, Request{Query: searchtest.Parse(t, query), Matches: 10})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, f := range r.Files {
			if f.Path != "line\nbreak.txt" {
				t.Errorf("%q finds %q", query, f.Path)
			}
			for _, x := range f.PathRanges {
				got = append(got, fmt.Sprintf("%d:%d", x.Start.ByteOffset, x.End.ByteOffset))
			}
		}
		if answer := fmt.Sprint(len(r.Files), " ", got); answer != want {
			t.Errorf("%q: files and ranges %s, want %s", query, answer, want)
		}
	}
}
