package verify

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// maxListedMatches bounds an answer that is listed file by file: about 200 bytes of JSON a match.
const maxListedMatches = 500_000

// Searcher is the part of Quarry that is checked.
type Searcher interface {
	engine.Searcher
	// Places lists the matches per file, and the totals of the answer's statistics.
	Places(ctx context.Context, text string) (map[engine.Place]int, engine.Answer, error)
}

// Checker compares queries over a fixed set of checkouts.
type Checker struct {
	Quarry  Searcher
	Ripgrep *engine.Ripgrep
	// Trees are the checkouts by repository name.
	Trees map[string]string
	files map[engine.Place]trait
}

// Outcome of one query.
type Outcome struct {
	Query          suite.Query
	Files, Matches int // ripgrep's, after the query's filters, without excused files
	TotalsOnly     bool
	Excused        map[string]int // reason → files
	Differences    []Difference   // at most maxDifferences
	Failed         int            // files that differ without a reason; in TotalsOnly, 1 if the totals differ
}

// Difference is a file without excuse.
type Difference struct {
	Place           engine.Place
	Ripgrep, Quarry int
}

// maxDifferences bounds what is shown of one query.
const maxDifferences = 5

// Check compares one query; ok is false when ripgrep cannot answer it.
func (c *Checker) Check(ctx context.Context, q suite.Query) (o Outcome, ok bool, err error) {
	plain, ok := q.Plain()
	if !ok {
		return Outcome{}, false, nil
	}
	want, _, err := c.Ripgrep.Count(ctx, plain, c.treesFor(plain))
	if err != nil {
		return Outcome{}, true, err
	}
	total := 0
	for place, n := range want {
		if !plain.Wants(place.Repository, place.Path) {
			delete(want, place)
			continue
		}
		total += n
	}
	text, _ := q.Quarry()
	o = Outcome{Query: q, Excused: make(map[string]int)}
	if total > maxListedMatches {
		return o, true, c.checkTotals(ctx, &o, text, want)
	}
	got, answer, err := c.Quarry.Places(ctx, text)
	if err != nil {
		return o, true, err
	}
	c.compare(&o, plain, want, got)
	if listed := sum(got); listed != answer.Matches || len(got) != answer.Files {
		o.Failed++
		o.Differences = append(o.Differences, Difference{engine.Place{Repository: "(statistics against list)"}, listed, answer.Matches})
	}
	return o, true, nil
}

// treesFor leaves out repositories that the query does not look at.
func (c *Checker) treesFor(plain suite.Plain) map[string]string {
	trees := make(map[string]string)
	for name, tree := range c.Trees {
		if plain.WantsRepository(name) {
			trees[name] = tree
		}
	}
	return trees
}

func (c *Checker) compare(o *Outcome, plain suite.Plain, want, got map[engine.Place]int) {
	for _, place := range union(want, got) {
		w, g := want[place], got[place]
		if w == g {
			o.Files++
			o.Matches += w
			continue
		}
		if reason := c.excuse(place, plain, g); reason != "" {
			o.Excused[reason]++
			continue
		}
		o.Failed++
		if len(o.Differences) < maxDifferences {
			o.Differences = append(o.Differences, Difference{place, w, g})
		}
	}
}

// checkTotals compares sums over the files that are not binary.
func (c *Checker) checkTotals(ctx context.Context, o *Outcome, text string, want map[engine.Place]int) error {
	o.TotalsOnly = true
	for place, n := range want {
		if c.traits(place).binary {
			o.Excused["binary"]++
			continue
		}
		o.Files++
		o.Matches += n
	}
	answer, err := c.Quarry.Search(ctx, engine.Request{Text: text})
	if err != nil {
		return err
	}
	if answer.Matches != o.Matches || answer.Files != o.Files {
		o.Failed = 1
		o.Differences = []Difference{
			{engine.Place{Repository: "(total of matches)"}, o.Matches, answer.Matches}, {engine.Place{Repository: "(number of files)"}, o.Files, answer.Files},
		}
	}
	return nil
}

// excuse returns why a file may differ, or "".
func (c *Checker) excuse(place engine.Place, plain suite.Plain, quarry int) string {
	t := c.traits(place)
	switch {
	case t.err != nil:
		return ""
	case quarry == 0 && t.binary:
		return "binary"
	case t.undecodable && !asciiLiterals(plain.Patterns):
		return "not UTF-8"
	}
	return ""
}

// asciiLiterals says whether the patterns match the same bytes in any encoding that contains ASCII.
func asciiLiterals(patterns []string) bool {
	for _, p := range patterns {
		if regexp.QuoteMeta(p) != p || strings.ContainsFunc(p, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return false
		}
	}
	return true
}

func union(a, b map[engine.Place]int) []engine.Place {
	var places []engine.Place
	for p := range a {
		places = append(places, p)
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(x, y engine.Place) int {
		if c := strings.Compare(x.Repository, y.Repository); c != 0 {
			return c
		}
		return strings.Compare(x.Path, y.Path)
	})
	return places
}

func sum(counts map[engine.Place]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// String is one line, and one more per difference.
func (o Outcome) String() string {
	var b strings.Builder
	verdict := "same"
	if o.Failed > 0 {
		verdict = "DIFFERENT"
	}
	fmt.Fprintf(&b, "%-9s %-24s %8d matches in %6d files", verdict, o.Query.Name, o.Matches, o.Files)
	if o.TotalsOnly {
		b.WriteString(" (totals)")
	}
	for _, reason := range []string{"binary", "not UTF-8"} {
		if n := o.Excused[reason]; n > 0 {
			fmt.Fprintf(&b, ", %d files excused: %s", n, reason)
		}
	}
	if o.Failed > 0 {
		fmt.Fprintf(&b, ", %d files differ without a reason", o.Failed)
	}
	for _, d := range o.Differences {
		fmt.Fprintf(&b, "\n    %s %s: ripgrep %d, quarry %d", d.Place.Repository, d.Place.Path, d.Ripgrep, d.Quarry)
	}
	return b.String()
}
