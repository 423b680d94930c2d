package relevance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
)

// Depth is the number of files of an answer that count.
const Depth = 20

// maxQueries bounds a suite.
const maxQueries = 1000

// ErrInvalid is returned for invalid queries.
var ErrInvalid = errors.New("invalid relevance suite")

// Query is a query and the files that should come first.
type Query struct {
	Category string `json:"category"`
	// Text is in Quarry's query language, in literal mode.
	Text string `json:"query"`
	// Want lists the acceptable files, as repository:path.
	Want []string `json:"want"`
}

// Half is the half of the queries to which a query belongs.
type Half string

// These are the halves. The score is tuned with one and tested with the other.
const (
	Tune Half = "tune"
	Test Half = "test"
)

// Half returns the half, which is determined by a hash of the text.
func (q *Query) Half() Half {
	h := fnv.New32a()
	_, _ = h.Write([]byte(q.Text))
	if h.Sum32()>>8&1 == 0 {
		return Tune
	}
	return Test
}

// Parse decodes a suite.
func Parse(data []byte) ([]Query, error) {
	var f struct {
		Queries []Query `json:"queries"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	if len(f.Queries) == 0 || len(f.Queries) > maxQueries {
		return nil, fmt.Errorf("%w: %d queries, want 1 to %d", ErrInvalid, len(f.Queries), maxQueries)
	}
	seen := make(map[string]bool)
	for _, q := range f.Queries {
		if q.Text == "" || q.Category == "" || len(q.Want) == 0 || seen[q.Text] {
			return nil, fmt.Errorf("%w: query %q: empty, without files or there twice", ErrInvalid, q.Text)
		}
		if slices.ContainsFunc(q.Want, func(w string) bool { return !strings.Contains(w, ":") }) {
			return nil, fmt.Errorf("%w: query %q: a file is repository:path", ErrInvalid, q.Text)
		}
		seen[q.Text] = true
	}
	return f.Queries, nil
}

// Ask returns the files that an engine shows for a query, in order.
type Ask func(ctx context.Context, q *Query) ([]engine.Place, error)

// Run holds the results of one engine: for each query the position of the first wanted
// file, from 1, or 0 if it is not among the first Depth.
type Run struct {
	Name  string
	Ranks []int
}

// Measure sends all queries to an engine.
func Measure(ctx context.Context, name string, queries []Query, ask Ask) (Run, error) {
	run := Run{Name: name, Ranks: make([]int, len(queries))}
	for i := range queries {
		places, err := ask(ctx, &queries[i])
		if err != nil {
			return run, fmt.Errorf("%s: %q: %w", name, queries[i].Text, err)
		}
		run.Ranks[i] = findRank(places, queries[i].Want)
	}
	return run, nil
}

func findRank(places []engine.Place, want []string) int {
	for i, p := range places[:min(len(places), Depth)] {
		if slices.Contains(want, p.Repository+":"+p.Path) {
			return i + 1
		}
	}
	return 0
}
