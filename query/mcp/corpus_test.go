package mcp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/assist"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// corpusFiles holds the files of small repositories by name and path.
var corpusFiles = map[string]map[string]string{
	"github.com/meadow/kettle": {
		"README.md": "# Kettle\n\nA library that boils water.\n",
		"boil.go": `package kettle

import "errors"

// ErrEmpty says that there is no water.
var ErrEmpty = errors.New("the kettle is empty")

// Kettle boils water.
type Kettle struct {
	litres int
}

// Boil boils the water, or returns ErrEmpty.
func (k *Kettle) Boil() error {
	if k.litres == 0 {
		return ErrEmpty
	}
	return heatElement(k.litres)
}
`,
		"element.go": `package kettle

// heatElement heats some litres.
func heatElement(litres int) error {
	for range litres {
		turnOn()
	}
	return nil
}

func turnOn() {}
`,
		"boil_test.go":    "package kettle\n\nimport \"testing\"\n\nfunc TestBoil(t *testing.T) {\n\tif err := new(Kettle).Boil(); err != ErrEmpty {\n\t\tt.Fatal(err)\n\t}\n}\n",
		"docs/descale.md": "Descale the heating element once a month.\n",
	},
	"github.com/meadow/teapot": {
		"pour.py":    "from kettle import Kettle\n\n\ndef pour(cups):\n    \"\"\"Pours cups of tea.\"\"\"\n    return Kettle().boil() * cups\n",
		"src/lid.js": "export function openLid() {\n  return turnOn();\n}\n",
	},
}

// testCorpus is an index of corpusFiles: a view for searches, and a snapshot for files.
type testCorpus struct {
	*world
	index *searchtest.Corpus
	texts map[code.RepositoryID]map[string]source.File
}

const corpusCommit = code.CommitID("1111111111111111111111111111111111111111")

func newCorpus(t *testing.T) *testCorpus {
	t.Helper()
	c := &testCorpus{world: &world{}, texts: map[code.RepositoryID]map[string]source.File{}}
	analyzer := analyze.New(analyze.Options{OutlineTimeout: -1})
	var repositories []searchtest.Repository
	for i, name := range slices.Sorted(maps.Keys(corpusFiles)) {
		repo := &corpus.Repository{IndexedCommit: corpusCommit, Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: name, DefaultBranch: "main"}}
		repositories = append(repositories, searchtest.Repository{Repository: repo, Files: corpusFiles[name]})
		c.texts[repo.ID] = map[string]source.File{}
		for path, text := range corpusFiles[name] {
			d := analyzer.Document(path, []byte(text))
			c.texts[repo.ID][path] = source.File{Text: d.Text, Language: d.Language}
		}
	}
	var err error
	if c.index, err = searchtest.New(func(path string, text []byte) (segment.Document, code.Flags) {
		r := analyzer.Document(path, text)
		return segment.Document{Key: code.DocumentKey{Language: r.Language}, Flags: r.Flags &^ analyze.PlaceFlags, Text: r.Text, Symbols: r.Symbols}, r.Flags
	}, repositories...); err != nil {
		t.Fatalf("index the files of the corpus: %v", err)
	}
	return c
}

// View implements VisibleIndex.
func (c *testCorpus) View(context.Context) (corpus.View, error) { return c.index, nil }

// Repository implements VisibleIndex.
func (c *testCorpus) Repository(_ context.Context, name string) (*code.Repository, error) {
	for _, r := range c.index.Repositories() {
		if r.Name == name {
			return &r.Repository, nil
		}
	}
	return nil, fmt.Errorf("find: %w", code.ErrNotFound)
}

// Repositories implements VisibleIndex.
func (c *testCorpus) Repositories(_ context.Context, _, filter string) ([]*corpus.Repository, error) {
	return slices.DeleteFunc(slices.Clone(c.index.Repositories()), func(r *corpus.Repository) bool { return !strings.Contains(r.Name, filter) }), nil
}

// snapshot is a corpus as a source.Snapshot.
type snapshot struct{ *testCorpus }

// Snapshot implements source.Index.
func (s snapshot) Snapshot(context.Context, code.RepositoryID) (source.Snapshot, error) {
	return s, nil
}

func (s snapshot) Release() {}

func (s snapshot) Default(code.RepositoryID) code.Ref { return "refs/heads/main" }

func (s snapshot) Commit(_ code.RepositoryID, ref code.Ref) code.CommitID {
	if ref == "refs/heads/main" {
		return corpusCommit
	}
	return ""
}

func (s snapshot) RefAt(_ code.RepositoryID, commit code.CommitID) code.Ref {
	if commit == corpusCommit {
		return "refs/heads/main"
	}
	return ""
}

func (s snapshot) Branches(code.RepositoryID) []source.Branch {
	return []source.Branch{{Ref: "refs/heads/main", Commit: corpusCommit}}
}

func (s snapshot) File(_ context.Context, id code.RepositoryID, _ code.Ref, path string) (source.File, error) {
	f, ok := s.texts[id][path]
	if !ok {
		return f, fmt.Errorf("%s: %w", path, source.ErrNoPath)
	}
	return f, nil
}

func (s snapshot) List(_ context.Context, id code.RepositoryID, _ code.Ref, dir string, _ int) ([]source.Entry, error) {
	kinds := map[string]source.Kind{}
	for path := range s.texts[id] {
		rest, below := path, true
		if dir != "" {
			rest, below = strings.CutPrefix(path, dir+"/")
		}
		if !below {
			continue
		}
		name, _, nested := strings.Cut(rest, "/")
		kinds[name] = source.KindBlob
		if nested {
			kinds[name] = source.KindTree
		}
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, source.ErrNoPath)
	}
	var out []source.Entry
	for name, kind := range kinds {
		out = append(out, source.Entry{Name: name, Kind: kind})
	}
	slices.SortFunc(out, func(a, b source.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func (s snapshot) Files(_ context.Context, id code.RepositoryID, _ code.Ref, _ int) ([]string, error) {
	return slices.Sorted(maps.Keys(s.texts[id])), nil
}

// TestTools calls the tools on a small corpus with the real search engine, and prints
// what a model reads.
func TestTools(t *testing.T) {
	c := newCorpus(t)
	browser, err := source.New(source.Options{Index: snapshot{c}})
	if err != nil {
		t.Fatal(err)
	}
	engine := search.New(search.Options{MaxDuration: 10 * time.Hour})
	s, err := New(Options{
		Searcher: assist.New(engine, nil), FileFinder: engine, Index: c, Source: browser, Note: c.addRecord,
		PublicURL: "http://localhost", Version: "1", Outline: analyze.Outline{Timeout: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	datadriven.Walk(t, "testdata/tools", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arguments := cmp.Or(strings.TrimSpace(d.Input), "{}")
			return strings.TrimRight(callTool(t, s, reader, d.Cmd, arguments), "\n") + "\n"
		})
	})
}
