package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/suite"
)

// queryBudget is the time of one query by the slowest program, with its warm-up, after
// which it is not run again: a count of a second does not take seven.
const queryBudget = time.Second

// answers holds the times of one query by one program.
type answers struct {
	first     time.Duration     // of the first searcher, to warm up
	times     [][]time.Duration // by searcher
	brief     []time.Duration   // of the first searcher, without advice; nil if it knows no such requests
	matches   int
	filesRead int // as the program reports it
	err       error
}

// fastestTimes returns the times of the faster searcher, or none if the query failed.
func (a answers) fastestTimes() (best []time.Duration) {
	for _, times := range a.times {
		if m := stat.Median(times); a.err == nil && m > 0 && (best == nil || m < stat.Median(best)) {
			best = times
		}
	}
	return best
}

// median returns the median of the faster searcher, or 0 if the query failed.
func (a answers) median() time.Duration { return stat.Median(a.fastestTimes()) }

// briefMedian returns the median of the answers without advice, or of all if there are
// none.
func (a answers) briefMedian() time.Duration {
	if a.err == nil && len(a.brief) > 0 {
		return stat.Median(a.brief)
	}
	return a.median()
}

// askStep sends the queries of a step to all programs in turn, and those of doubtful
// groups again.
func (c *comparison) askStep(ctx context.Context, step Step, groups []group) error {
	for _, o := range c.contenders {
		o.answers[step] = make([]answers, len(c.queries[step]))
	}
	if err := c.askAll(ctx, c.contenders, step, func(int) bool { return true }); err != nil {
		return err
	}
	return c.askAgain(ctx, step, groups)
}

// askRandom sends the random queries, and asks this build to explain those that will be
// listed as the worst.
func (c *comparison) askRandom(ctx context.Context) error {
	if err := c.askStep(ctx, StepRandom, c.randomGroups()); err != nil {
		return err
	}
	server := serverOf(c.here.program)
	if server == nil {
		return nil
	}
	c.explained = map[int]string{}
	for _, other := range c.contenders[1:] {
		for _, w := range c.worstQueries(other) {
			text, err := server.Explain(ctx, c.here.program.Translate(c.queries[StepRandom][w.index].Query))
			if err != nil {
				return err
			}
			c.explained[w.index] = text
		}
	}
	return nil
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
	median := c.medianFor(other)
	for i := range c.queries[StepRandom] {
		if here, there := median(c.here.answers[StepRandom][i]), median(other.answers[StepRandom][i]); here > 0 && there > 0 {
			worst = append(worst, comparedQuery{i, float64(here) / float64(there)})
		}
	}
	slices.SortFunc(worst, func(a, b comparedQuery) int { return cmp.Compare(b.ratio, a.ratio) })
	return worst[:min(maxWorst, len(worst))]
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
func (c *comparison) askAgain(ctx context.Context, step Step, groups []group) error {
	if c.before == nil || len(groups) == 0 || c.ratioOf(c.before, groups[0]) > groups[0].bound*doubtFactor {
		return nil
	}
	both := []*contender{c.here, c.before}
	for n := range maxAgain {
		suspect := map[int]bool{}
		for _, g := range groups {
			if ratio := c.ratioOf(c.before, g); ratio > g.bound && ratio < g.bound*doubtFactor {
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
			if err := errors.Join(o.program.Stop(), c.importOnce(ctx, o), o.program.Start(ctx, o.countRepositories())); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			for i := range suspect {
				o.answers[step][i] = answers{}
			}
		}
		if err := c.askAll(ctx, both, step, func(i int) bool { return suspect[i] }); err != nil {
			return err
		}
	}
	return nil
}

// logEvery is the number of queries between two progress messages.
const logEvery = 100

// askAll sends each chosen query to programs, in turn.
func (c *comparison) askAll(ctx context.Context, to []*contender, step Step, chosen func(int) bool) error {
	for i, q := range c.queries[step] {
		if !chosen(i) {
			continue
		}
		if err := askQuery(ctx, inTurn(to, c.Runs+1), q.Query, func(o *contender) *answers { return &o.answers[step][i] }); err != nil {
			return err
		}
		if (i+1)%logEvery == 0 {
			c.Log("%d of %d queries", i+1, len(c.queries[step]))
		}
	}
	return nil
}

// askQuery sends a query in rounds, of which the first one warms up, until the slowest
// program has spent its budget.
func askQuery(ctx context.Context, rounds [][]*contender, q suite.Query, of func(*contender) *answers) error {
	var slowest time.Duration
	spent := map[*contender]time.Duration{}
	for round, order := range rounds {
		if round > 1 && slowest > queryBudget {
			break
		}
		for _, o := range order {
			a := of(o)
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
					if s == 0 {
						a.first = answer.Elapsed
					}
					continue
				}
				a.times[s] = append(a.times[s], answer.Elapsed)
			}
			if err := o.askBriefly(ctx, q, a, round > 0); err != nil {
				return err
			}
			slowest = max(slowest, spent[o])
		}
	}
	return nil
}

// askBriefly sends a query without advice, if the program knows such requests.
func (o *contender) askBriefly(ctx context.Context, q suite.Query, a *answers, counts bool) error {
	if !o.brief || a.err != nil {
		return nil
	}
	request := o.program.Translate(q)
	request.Brief = true
	answer, err := o.program.Searchers()[0].Search(ctx, request)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		a.err = fmt.Errorf("%s: %s, without advice: %w", o.name, q.Text, err)
	case counts:
		a.brief = append(a.brief, answer.Elapsed)
	}
	return nil
}
