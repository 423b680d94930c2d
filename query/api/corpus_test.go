package api_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// indexedCorpus is the corpus that the tests search: a file with symbols, a word twice in
// a line, and a path that addresses escape; and a repository without a default branch.
var indexedCorpus = sync.OnceValue(func() *searchtest.Corpus {
	analyzer := analyze.New(analyze.Options{OutlineTimeout: -1})
	c, err := searchtest.New(func(path string, text []byte) (segment.Document, code.Flags) {
		r := analyzer.Document(path, text)
		return segment.Document{Key: code.DocumentKey{Language: r.Language}, Flags: r.Flags &^ analyze.PlaceFlags, Text: r.Text, Symbols: r.Symbols}, r.Flags
	},
		searchtest.Repository{Repository: kettle, Refs: []code.Ref{"refs/tags/v1"}, Files: map[string]string{"src/boil a#1.go": `package kettle

// Kettle holds water.
type Kettle struct{ degrees chan int }

func (k *Kettle) Boil() <-chan int { // to the boil
	return k.degrees
}

var whistle = "<boil>"
`}},
		searchtest.Repository{Repository: bare, Files: map[string]string{"boil.txt": "it comes to the boil\n"}},
	)
	if err != nil {
		panic(fmt.Sprintf("index the files of the corpus: %v", err))
	}
	return c
})

// searchCorpus returns the result of a search of the corpus, possibly changed by the
// test.
func (w *world) searchCorpus(ctx context.Context, v corpus.View, r search.Request) (*search.Result, error) {
	out, err := w.searcher.Search(ctx, v, r)
	if err != nil {
		return nil, err
	}
	w.settleResult(out)
	return out, nil
}

// settleResult replaces varying values of a result, times and uncached bytes, with fixed
// ones, and applies the test's change.
func (w *world) settleResult(r *search.Result) {
	r.Stats.ContentBytes = 4
	r.Stats.Duration, r.Stats.Wait, r.Stats.Planning, r.Stats.Searching = 1500*time.Millisecond, 1, 2, 3
	if w.change != nil {
		w.change(r)
	}
}

// filesOf returns the files that contain a word.
func (w *world) filesOf(word string) []search.FileMatch {
	query, err := syntax.Parse(word, syntax.Options{})
	if err != nil {
		panic(fmt.Sprintf("parse %q: %v", word, err))
	}
	result, err := w.searcher.Search(context.Background(), indexedCorpus(), search.Request{Query: query, Matches: 10})
	if err != nil || len(result.Files) == 0 {
		panic(fmt.Sprintf("search for %q: %d files, %v", word, len(result.Files), err))
	}
	return slices.Clone(result.Files)
}

// Search fails as the test requests, or searches the corpus.
func (w *world) Search(ctx context.Context, v corpus.View, r search.Request) (*search.Result, error) {
	w.request = r
	if w.panics {
		panic("a broken invariant")
	}
	if w.block {
		<-ctx.Done()
		return nil, fmt.Errorf("search: %w", ctx.Err())
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.searchCorpus(ctx, v, r)
}

// Stream fails as the test requests, after a part with files if the failure must be late,
// or searches the corpus.
func (w *world) Stream(ctx context.Context, v corpus.View, r search.Request, emit search.Emit) (*search.Result, error) {
	if w.late {
		if err := emit(w.filesOf("boil")[:1], search.Stats{Matches: 3, Files: 1, Displayed: 3}); err != nil {
			return nil, err
		}
	}
	if w.late || w.err != nil {
		return w.Search(ctx, v, r)
	}
	out, err := w.searcher.Stream(ctx, v, r, emit)
	if err != nil {
		return nil, err
	}
	w.settleResult(out)
	return out, nil
}

// FindFiles finds files of the corpus.
func (w *world) FindFiles(ctx context.Context, v corpus.View, r search.FileRequest) (*search.FoundFiles, error) {
	return w.engine.FindFiles(ctx, v, r)
}
