package relevance

import (
	"fmt"
	"io"
	"slices"
)

// Report writes the figures of all runs as Markdown tables: one for both halves, and one
// with the mean reciprocal rank of each category.
func Report(w io.Writer, queries []Query, runs []Run) error {
	p := &printer{w: w}
	p.writeLine("| half | queries |%s", joinColumns(runs, func(r *Run) string { return r.Name + ": MRR, first, in 5" }))
	p.writeRule(2 + len(runs))
	for _, half := range []Half{Tune, Test} {
		in := func(q *Query) bool { return q.Half() == half }
		n := figuresOf(queries, &runs[0], in).queries
		p.writeLine("| %s | %d |%s", half, n, joinColumns(runs, func(r *Run) string { return figuresOf(queries, r, in).String() }))
	}
	p.writeLine("\n| category | tune / test |%s", joinColumns(runs, func(r *Run) string { return r.Name + ": MRR tune / test" }))
	p.writeRule(2 + len(runs))
	for _, c := range listCategories(queries) {
		of := func(h Half) func(*Query) bool {
			return func(q *Query) bool { return q.Category == c && q.Half() == h }
		}
		p.writeLine("| %s | %d / %d |%s", c, figuresOf(queries, &runs[0], of(Tune)).queries, figuresOf(queries, &runs[0], of(Test)).queries,
			joinColumns(runs, func(r *Run) string {
				return fmt.Sprintf("%.3f / %.3f", figuresOf(queries, r, of(Tune)).meanReciprocalRank(), figuresOf(queries, r, of(Test)).meanReciprocalRank())
			}))
	}
	return p.err
}

// Misses writes the queries of the tuning half for which a run does not show a wanted
// file first.
func Misses(w io.Writer, queries []Query, runs []Run) error {
	p := &printer{w: w}
	for i := range queries {
		if q := &queries[i]; q.Half() == Tune && runs[0].Ranks[i] != 1 {
			p.writeLine("%s\t%s\t%s", q.Category, q.Text, joinColumns(runs, func(r *Run) string { return fmt.Sprint(r.Ranks[i]) }))
		}
	}
	return p.err
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

func joinColumns(runs []Run, cell func(*Run) string) string {
	out := ""
	for i := range runs {
		out += " " + cell(&runs[i]) + " |"
	}
	return out
}

// A printer writes formatted text and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) writeLine(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) writeRule(columns int) {
	rule := "|"
	for range columns {
		rule += "---|"
	}
	p.writeLine("%s", rule)
}
