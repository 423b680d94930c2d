package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/suite"
)

// queryBudget is the time of one query by the slowest program, with its warm-up, after
// which it is not run again: a count of a second does not take seven.
const queryBudget = time.Second

// answers holds the times of one query by one program.
type answers struct {
	times     [][]time.Duration // by searcher
	matches   int
	filesRead int // as the program reports it
	err       error
}

// median returns the median of the faster searcher, or 0 if the query failed.
func (a answers) median() (least time.Duration) {
	for _, times := range a.times {
		if m := stat.Median(times); a.err == nil && (least == 0 || m < least) {
			least = m
		}
	}
	return least
}

func (c *comparison) askRandom(ctx context.Context) error {
	queries := make([]suite.Query, len(c.queries))
	for i, q := range c.queries {
		queries[i] = q.Query
	}
	for _, o := range c.contenders {
		o.random = make([]answers, len(queries))
	}
	of := func(o *contender) []answers { return o.random }
	if err := c.askAll(ctx, c.contenders, queries, of, func(int) bool { return true }); err != nil {
		return err
	}
	return c.askAgain(ctx, queries, of, c.randomGroups())
}

// maxWorst is the number of queries that are listed as the worst.
const maxWorst = 20

// comparedQuery is a random query with the ratio to another program.
type comparedQuery struct {
	index int
	ratio float64
}

// worstQueries returns the random queries with the largest ratios to a program.
func (c *comparison) worstQueries(other *contender) (worst []comparedQuery) {
	for i := range c.queries {
		if here, there := c.here.random[i].median(), other.random[i].median(); here > 0 && there > 0 {
			worst = append(worst, comparedQuery{i, float64(here) / float64(there)})
		}
	}
	slices.SortFunc(worst, func(a, b comparedQuery) int { return cmp.Compare(b.ratio, a.ratio) })
	return worst[:min(maxWorst, len(worst))]
}

// explainWorst asks this build to explain the queries that will be listed.
func (c *comparison) explainWorst(ctx context.Context) error {
	here, ok := c.here.program.(*quarryProgram)
	if !ok {
		return nil
	}
	c.explained = map[int]string{}
	for _, other := range c.contenders[1:] {
		for _, w := range c.worstQueries(other) {
			text, err := here.server.Explain(ctx, here.Translate(c.queries[w.index].Query))
			if err != nil {
				return err
			}
			c.explained[w.index] = text
		}
	}
	return nil
}

func (c *comparison) askSuite(ctx context.Context) error {
	for _, o := range c.contenders {
		o.suite = make([]answers, len(c.Suite))
	}
	of := func(o *contender) []answers { return o.suite }
	if err := c.askAll(ctx, c.contenders, c.Suite, of, func(int) bool { return true }); err != nil {
		return err
	}
	return c.askAgain(ctx, c.Suite, of, c.suiteGroups())
}

const (
	// maxAgain bounds how often the groups that exceed their bound are asked again.
	maxAgain = 2
	// doubtFactor is the factor above its bound from which a group is not asked again:
	// another index would not change the verdict.
	doubtFactor = 1.2
)

// askAgain sends the queries of groups that exceed their bound by little to both builds
// again, on new indexes, and forgets their earlier times: two imports by one build put
// documents into different segments, which makes single queries faster and others
// slower. If all queries together exceed their bound by much, it does nothing, because no
// group can change the verdict.
func (c *comparison) askAgain(ctx context.Context, queries []suite.Query, of func(*contender) []answers, groups []group) error {
	if c.before == nil || len(groups) == 0 || c.ratioOf(c.before, of, groups[0]) > groups[0].bound*doubtFactor {
		return nil
	}
	both := []*contender{c.here, c.before}
	for n := range maxAgain {
		suspect := map[int]bool{}
		for _, g := range groups {
			if ratio := c.ratioOf(c.before, of, g); ratio > g.bound && ratio < g.bound*doubtFactor {
				c.Log("%s: %.3f of %s, asked again (%d)", g.name, ratio, c.Reference, n+1)
				for _, i := range g.members {
					suspect[i] = true
				}
			}
		}
		if len(suspect) == 0 {
			return nil
		}
		for _, o := range both {
			if err := errors.Join(o.program.Stop(), c.importOnce(ctx, o), o.program.Start(ctx, len(c.repositories()))); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			for i := range suspect {
				of(o)[i] = answers{}
			}
		}
		if err := c.askAll(ctx, both, queries, of, func(i int) bool { return suspect[i] }); err != nil {
			return err
		}
	}
	return nil
}

// logEvery is the number of queries between two progress messages.
const logEvery = 100

// askAll sends each chosen query to programs, in turn.
func (c *comparison) askAll(ctx context.Context, to []*contender, queries []suite.Query, of func(*contender) []answers, chosen func(int) bool) error {
	for i, q := range queries {
		if !chosen(i) {
			continue
		}
		if err := askQuery(ctx, inTurn(to, c.Runs+1), q, i, of); err != nil {
			return err
		}
		if (i+1)%logEvery == 0 {
			c.Log("%d of %d queries", i+1, len(queries))
		}
	}
	return nil
}

// askQuery sends a query in rounds, of which the first one warms up, until the slowest
// program has spent its budget.
func askQuery(ctx context.Context, rounds [][]*contender, q suite.Query, i int, of func(*contender) []answers) error {
	var slowest time.Duration
	spent := map[*contender]time.Duration{}
	for round, order := range rounds {
		if round > 1 && slowest > queryBudget {
			break
		}
		for _, o := range order {
			a := &of(o)[i]
			for s, searcher := range o.program.Searchers() {
				answer, err := searcher.Search(ctx, o.program.Translate(q))
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					a.err = fmt.Errorf("%s: %s: %w", o.name, q.Text, err)
					continue
				}
				if len(a.times) <= s {
					a.times = append(a.times, nil)
				}
				spent[o] += answer.Elapsed
				if round == 0 {
					a.matches, a.filesRead = answer.Matches, answer.FilesRead
					continue
				}
				a.times[s] = append(a.times[s], answer.Elapsed)
			}
			slowest = max(slowest, spent[o])
		}
	}
	return nil
}
