package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestFindFiles checks the order of files found by letters of their paths.
func TestFindFiles(t *testing.T) {
	m := &searchtest.Model{}
	m.AddFiles(t, strings.Join([]string{
		"a/pebble refs/heads/main compaction_picker.go Go a",
		"a/pebble refs/heads/main compaction_picker_test.go Go b",
		"a/pebble refs/heads/main cmd/pebble/compact/packer.go Go c",
		"a/pebble refs/heads/main internal/manifest/CompactionPicker.java Java d",
		"a/pebble refs/heads/main .golangci.yaml YAML e",
		"a/other refs/heads/main docs/compaction.md Markdown f",
		"a/other refs/heads/side compaction_picker_side.go Go g",
		"a/hidden refs/heads/main secret/compaction_picker.go Go h",
	}, "\n"))
	s, screen := newSearcher(Options{}), corpus.NewScreen(corpus.ScreenOptions{})
	view := screen.Hide(m, "files", func(r *code.Repository) bool { return r.Name != "a/hidden" })
	for _, c := range []struct {
		letters, repository string
		total               int
		want                []string
	}{
		{"cmppckr", "", 4, []string{"compaction_picker.go", "compaction_picker_test.go", "internal/manifest/CompactionPicker.java", "cmd/pebble/compact/packer.go"}},
		{"golangci", "", 1, []string{".golangci.yaml"}},
		{"CP.java", "", 1, []string{"internal/manifest/CompactionPicker.java"}},
		{"comp test", "", 1, []string{"compaction_picker_test.go"}},
		{"compaction", "a/other", 1, []string{"docs/compaction.md"}},
		{"compaction", "a/hidden", 0, nil},
		{"secret", "", 0, nil},
		{"zzz", "", 0, nil},
	} {
		found, err := s.FindFiles(t.Context(), view, FileRequest{Letters: c.letters, Repository: c.repository, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, f := range found.Files {
			have = append(have, f.Path)
			letters := ""
			for _, p := range f.Positions {
				letters += f.Path[p : p+1]
			}
			if !strings.EqualFold(letters, strings.ReplaceAll(c.letters, " ", "")) {
				t.Errorf("%s: the places in %s are of %s", c.letters, f.Path, letters)
			}
		}
		if !slices.Equal(have, c.want) || found.Total != c.total {
			t.Errorf("%s: %d %q, want %d %q", c.letters, found.Total, have, c.total, c.want)
		}
	}
	for _, r := range []FileRequest{{Limit: 1}, {Letters: "a"}, {Letters: "a", Limit: MaxFoundFiles + 1}, {Letters: strings.Repeat("a", MaxFileLetters+1), Limit: 1}} {
		if _, err := s.FindFiles(t.Context(), view, r); err == nil {
			t.Errorf("%d letters, limit %d: no error", len(r.Letters), r.Limit)
		}
	}
}

// BenchmarkFindFiles finds files among a million paths.
func BenchmarkFindFiles(b *testing.B) {
	const files = 1_000_000
	rng := rand.New(rand.NewPCG(1, 94))
	words := []string{"compaction", "internal", "picker", "server", "kernel", "drivers", "test", "util", "manifest", "query", "search", "table", "index", "config", "net", "block"}
	places := segment.NewPlacesBuilder(1)
	for i := range files {
		path := ""
		for range 2 + rng.IntN(4) {
			path += words[rng.IntN(len(words))] + "/"
		}
		places.Add(0, 0, segment.NoRef, 0, fmt.Sprintf("%s%s_%s_%d.go", path, words[rng.IntN(len(words))], words[rng.IntN(len(words))], i))
	}
	m := &searchtest.Model{Repos: []*corpus.Repository{{Repository: code.Repository{ID: 1, Name: "host/many", DefaultBranch: "main"}}}}
	m.OnDefault = []corpus.Segment{{Places: places.Build()}}
	s := newSearcher(Options{})
	for _, letters := range []string{"cmppckr", "srvcfg", "e", "qzx"} {
		b.Run(letters, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.FindFiles(b.Context(), m, FileRequest{Letters: letters, Limit: 50}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
