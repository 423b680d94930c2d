package verify

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// Searcher contains the methods of Quarry that are checked.
type Searcher interface {
	engine.Searcher
	// Places returns the matches per file, and the totals of the statistics.
	Places(ctx context.Context, text string) (map[engine.Place]int, engine.Answer, error)
	// Skipped returns the files of a repository that are not searchable, with the reason,
	// by path.
	Skipped(ctx context.Context, repository string) (map[string]string, error)
}

// Checker compares queries over a fixed set of checkouts.
type Checker struct {
	Quarry  Searcher
	Ripgrep *engine.Ripgrep
	// Trees holds the checkouts by repository name.
	Trees map[string]string
	// files caches the traits of files, skipped the skipped files of repositories.
	files   map[engine.Place]trait
	skipped map[string]map[string]string
}

// Outcome is the result for one query.
type Outcome struct {
	Query          suite.Query
	Files, Matches int            // ripgrep's counts, after the query's filters, without excused files
	Excused        map[string]int // reason → files
	Differences    []Difference   // at most maxDifferences
	Failed         int            // files that differ without a reason
}

// Difference is a difference without an excuse.
type Difference struct {
	Place           engine.Place
	Ripgrep, Quarry int
}

// maxDifferences bounds the differences that are shown for one query.
const maxDifferences = 5

// Check compares one query. ok is false if ripgrep cannot answer it.
func (c *Checker) Check(ctx context.Context, q suite.Query) (o Outcome, ok bool, err error) {
	plain, ok := q.Plain()
	if !ok {
		return Outcome{}, false, nil
	}
	want, _, err := c.Ripgrep.Count(ctx, plain, c.treesFor(plain))
	if err != nil {
		return Outcome{}, true, err
	}
	for place := range want {
		if !plain.Wants(place.Repository, place.Path) {
			delete(want, place)
		}
	}
	text, _ := q.Quarry()
	o = Outcome{Query: q, Excused: make(map[string]int)}
	got, err := c.listMatches(ctx, &o, text, slices.Sorted(maps.Keys(c.treesFor(plain))), want)
	if err != nil {
		return o, true, err
	}
	if err := c.compareCounts(ctx, &o, plain, want, got); err != nil {
		return o, true, err
	}
	return o, true, c.checkTotals(ctx, &o, text, got)
}

// treesFor omits repositories that the query does not search.
func (c *Checker) treesFor(plain suite.Plain) map[string]string {
	trees := make(map[string]string)
	for name, tree := range c.Trees {
		if plain.WantsRepository(name) {
			trees[name] = tree
		}
	}
	return trees
}

func (c *Checker) compareCounts(ctx context.Context, o *Outcome, plain suite.Plain, want, got map[engine.Place]int) error {
	for _, place := range unionPlaces(want, got) {
		w, g := want[place], got[place]
		if w == g {
			o.Files++
			o.Matches += w
			continue
		}
		reason, err := c.findExcuse(ctx, place, plain, g)
		if err != nil {
			return err
		}
		if reason != "" {
			o.Excused[reason]++
			continue
		}
		o.addDifference(place, w, g)
	}
	return nil
}

// addDifference records a difference without an excuse.
func (o *Outcome) addDifference(place engine.Place, ripgrep, quarry int) {
	o.Failed++
	if len(o.Differences) < maxDifferences {
		o.Differences = append(o.Differences, Difference{place, ripgrep, quarry})
	}
}

// checkTotals checks that the server's counts equal its list.
func (c *Checker) checkTotals(ctx context.Context, o *Outcome, text string, got map[engine.Place]int) error {
	answer, err := c.Quarry.Search(ctx, engine.Request{Text: text})
	if err != nil {
		return err
	}
	if listed := sumCounts(got); answer.Matches != listed || answer.Files != len(got) {
		o.addDifference(engine.Place{Repository: "(matches listed against counted)"}, listed, answer.Matches)
		o.addDifference(engine.Place{Repository: "(files listed against counted)"}, len(got), answer.Files)
	}
	return nil
}

// findExcuse returns the reason why a file may differ, or "".
func (c *Checker) findExcuse(ctx context.Context, place engine.Place, plain suite.Plain, quarry int) (string, error) {
	if quarry == 0 {
		skipped, err := c.skippedOf(ctx, place.Repository)
		if err != nil {
			return "", err
		}
		if reason := skipped[place.Path]; reason != "" {
			return "skipped as " + reason, nil
		}
	}
	t := c.fileTraits(place)
	switch {
	case t.err != nil:
		return "", nil
	case t.undecodable && !asciiLiterals(plain.Patterns):
		return "not UTF-8", nil
	}
	return "", nil
}

// skippedOf returns the files of a repository that the server does not search. It
// requests them once.
func (c *Checker) skippedOf(ctx context.Context, repository string) (map[string]string, error) {
	if skipped, ok := c.skipped[repository]; ok {
		return skipped, nil
	}
	skipped, err := c.Quarry.Skipped(ctx, repository)
	if err != nil {
		return nil, err
	}
	if c.skipped == nil {
		c.skipped = make(map[string]map[string]string)
	}
	c.skipped[repository] = skipped
	return skipped, nil
}

// asciiLiterals reports whether the patterns match the same bytes in any encoding that
// contains ASCII.
func asciiLiterals(patterns []string) bool {
	for _, p := range patterns {
		if regexp.QuoteMeta(p) != p || strings.ContainsFunc(p, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return false
		}
	}
	return true
}

func unionPlaces(a, b map[engine.Place]int) []engine.Place {
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

func sumCounts(counts map[engine.Place]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// String returns one line, and one more for each difference.
func (o Outcome) String() string {
	var b strings.Builder
	verdict := "same"
	if o.Failed > 0 {
		verdict = "DIFFERENT"
	}
	fmt.Fprintf(&b, "%-9s %-24s %8d matches in %6d files", verdict, o.Query.Name, o.Matches, o.Files)
	for _, reason := range slices.Sorted(maps.Keys(o.Excused)) {
		fmt.Fprintf(&b, ", %d files excused: %s", o.Excused[reason], reason)
	}
	if o.Failed > 0 {
		fmt.Fprintf(&b, ", %d files differ without a reason", o.Failed)
	}
	for _, d := range o.Differences {
		fmt.Fprintf(&b, "\n    %s %s: ripgrep %d, quarry %d", d.Place.Repository, d.Place.Path, d.Ripgrep, d.Quarry)
	}
	return b.String()
}
