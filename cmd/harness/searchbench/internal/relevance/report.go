package relevance

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
)

// Report returns the figures of all runs: one table for both halves, and one with the
// mean reciprocal rank of each category.
func Report(queries []Query, runs []Run) (halves, categories report.Table) {
	halves.Header, categories.Header = []string{"half", "queries"}, []string{"category", "tune / test"}
	for _, r := range runs {
		halves.Header, categories.Header = append(halves.Header, r.Name+": MRR, first, in 5"), append(categories.Header, r.Name+": MRR tune / test")
	}
	for _, half := range []Half{Tune, Test} {
		in := func(q *Query) bool { return q.Half() == half }
		cells := []string{string(half), strconv.Itoa(figuresOf(queries, &runs[0], in).queries)}
		for i := range runs {
			cells = append(cells, figuresOf(queries, &runs[i], in).String())
		}
		halves.Rows = append(halves.Rows, cells)
	}
	for _, c := range listCategories(queries) {
		figures := func(r *Run, h Half) figures {
			return figuresOf(queries, r, func(q *Query) bool { return q.Category == c && q.Half() == h })
		}
		cells := []string{c, fmt.Sprintf("%d / %d", figures(&runs[0], Tune).queries, figures(&runs[0], Test).queries)}
		for i := range runs {
			cells = append(cells, fmt.Sprintf("%.3f / %.3f", figures(&runs[i], Tune).meanReciprocalRank(), figures(&runs[i], Test).meanReciprocalRank()))
		}
		categories.Rows = append(categories.Rows, cells)
	}
	return halves, categories
}

// Misses returns the queries of the tuning half for which the first run does not show a
// wanted file first, with the ranks of all runs.
func Misses(queries []Query, runs []Run) (t report.Table) {
	t.Header = []string{"category", "query"}
	for _, r := range runs {
		t.Header = append(t.Header, r.Name)
	}
	for i, q := range queries {
		if q.Half() != Tune || runs[0].Ranks[i] == 1 {
			continue
		}
		cells := []string{q.Category, q.Text}
		for _, r := range runs {
			cells = append(cells, strconv.Itoa(r.Ranks[i]))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// figures summarizes some queries.
type figures struct {
	queries, first, five int
	reciprocal           float64
}

func figuresOf(queries []Query, r *Run, in func(*Query) bool) figures {
	var f figures
	for i := range queries {
		if !in(&queries[i]) {
			continue
		}
		f.queries++
		switch rank := r.Ranks[i]; {
		case rank == 0:
			continue
		case rank == 1:
			f.first++
			fallthrough
		case rank <= 5:
			f.five++
			fallthrough
		default:
			f.reciprocal += 1 / float64(rank)
		}
	}
	return f
}

func (f figures) meanReciprocalRank() float64 { return f.reciprocal / float64(max(f.queries, 1)) }

func (f figures) String() string {
	share := func(n int) float64 { return 100 * float64(n) / float64(max(f.queries, 1)) }
	return fmt.Sprintf("**%.3f**, %.0f %%, %.0f %%", f.meanReciprocalRank(), share(f.first), share(f.five))
}

func listCategories(queries []Query) []string {
	var out []string
	for i := range queries {
		if c := queries[i].Category; !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
