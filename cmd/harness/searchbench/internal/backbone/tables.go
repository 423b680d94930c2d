package backbone

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/stat"
)

// These are the goals.
const (
	// goalTail bounds the p99 of freshness as a multiple of its p50.
	goalTail = 5.0
	// goalEvents is the goal for draining a backlog, in events per second. goalFetches is
	// the part of the rate of bare git fetches that single pushes must reach.
	goalEvents, goalFetches = 500.0, 0.5
)

// goalLogs are the logs that have goals.
var goalLogs = []Log{Embedded, OneBroker}

func goalVerdict(reached bool) string {
	if reached {
		return "reached"
	}
	return "missed"
}

// Rows compares the results with the goals.
func (f *Freshness) Rows() []report.Row {
	var rows []report.Row
	for _, run := range f.Runs {
		if !slices.Contains(goalLogs, run.Log) {
			continue
		}
		p50, p99 := stat.Quantile(run.Found, 0.5), stat.Quantile(run.Found, 0.99)
		tail := float64(p99) / float64(max(p50, 1))
		rows = append(rows, report.Row{
			Figure: fmt.Sprintf("webhook → searchable, %g pushes a second, %s", run.Rate, run.Log),
			Quarry: fmt.Sprintf("p50 %s, p99 %s", report.Milliseconds(p50), report.Milliseconds(p99)), Reach: fmt.Sprintf("p99 ≤ %.0f × p50", goalTail),
			Verdict: fmt.Sprintf("%s (%.1f × p50)", goalVerdict(tail <= goalTail), tail),
		})
	}
	return rows
}

// Table returns a table with a row for each rate on each log.
func (f *Freshness) Table() report.Table {
	t := report.Table{
		Title: "Freshness of pushes of one file to Linux",
		Note: fmt.Sprintf("From the send of the signed webhook to the first answer with the push's word, polled every %s; a push that was indexed with a later one is found with it. "+
			"In addition to Linux %d repositories with %.0f MB of text were indexed. "+
			"Queries were sent meanwhile. The server's mean and revisions are those of its own histogram, which counts a revision once.",
			pollEvery, f.Repositories, float64(f.BesideBytes)/1e6),
		Header: []string{"log", "pushes/s", "pushes", "p50", "p90", "p99", "max", "hook answered p50, p99", "sent late at most", "revisions, server's mean", "questions/s, p50, p99, errors, left out"},
	}
	for _, run := range f.Runs {
		t.Rows = append(t.Rows, append([]string{string(run.Log), fmt.Sprintf("%g", run.Rate)}, append(timesCells(run.Found),
			report.Milliseconds(stat.Quantile(run.Accepted, 0.5))+", "+report.Milliseconds(stat.Quantile(run.Accepted, 0.99)), report.Milliseconds(run.Behind),
			fmt.Sprintf("%.0f, %s", run.Revisions, report.Milliseconds(run.Mean)),
			fmt.Sprintf("%.1f, %s, %s, %d, %d", run.Asked.Taken, report.Milliseconds(run.Asked.P50), report.Milliseconds(run.Asked.P99), run.Asked.Errors, run.Asked.LeftOut))...))
	}
	return t
}

func timesCells(times []time.Duration) []string {
	cells := []string{strconv.Itoa(len(times))}
	for _, q := range []float64{0.5, 0.9, 0.99, 1} {
		cells = append(cells, report.Milliseconds(stat.Quantile(times, q)))
	}
	return cells
}

// Rows compares the results with the goals.
func (t *Throughput) Rows() []report.Row {
	var rows []report.Row
	for _, run := range t.Runs {
		events := float64(run.Events) / run.Wall.Seconds()
		rows = append(rows, report.Row{
			Figure: fmt.Sprintf("%d pushes that wait are drained, %s", run.Events, run.Log), Quarry: fmt.Sprintf("%.0f events/s", events),
			Reach: "≥ 500 events/s, every push accounted for", Verdict: goalVerdict(events >= goalEvents && len(run.Account.Open) == 0),
		})
		if run.OneByOne > 0 {
			ratio := run.Fetched.Seconds() / run.Pushed.Seconds()
			rows = append(rows, report.Row{
				Figure: fmt.Sprintf("pushes one by one, compared with as many git fetch, %s", run.Log),
				Zoekt:  fmt.Sprintf("git fetch %.1f/s", float64(run.OneByOne)/run.Fetched.Seconds()), Quarry: fmt.Sprintf("%.1f pushes/s", float64(run.OneByOne)/run.Pushed.Seconds()),
				Ratio: report.Times(ratio), Reach: "≥ 0.5 ×", Verdict: goalVerdict(ratio >= goalFetches),
			})
		}
	}
	return rows
}

// Table returns a table about the backlog on each log.
func (t *Throughput) Table() report.Table {
	table := report.Table{
		Title: "A backlog of pushes",
		Note: "Signed webhooks are sent to the receiver alone, so that their events wait in the log; then the server starts. It is done when the last word of every repository " +
			"is found and neither worker nor projections lag. The account is read from the log afterwards, by itself: of every push, what answered it.",
		Header: []string{"log", "events", "into the log", "drained in", "events/s", "peak memory", "revisions", "pushes in the log", "by a revision", "handled without", "dead", "unanswered", "events doubled"},
	}
	for _, run := range t.Runs {
		a := run.Account
		table.Rows = append(table.Rows, []string{
			string(run.Log), strconv.Itoa(run.Events), run.Filled.Round(time.Millisecond).String(), run.Wall.Round(time.Millisecond).String(),
			fmt.Sprintf("%.0f", float64(run.Events)/run.Wall.Seconds()), report.MiB(run.PeakBytes), fmt.Sprintf("%.0f", run.Revisions), strconv.Itoa(a.Pushes),
			strconv.Itoa(a.Indexed), handledCell(run), strconv.Itoa(a.Dead), strconv.Itoa(len(a.Open)), strconv.Itoa(a.Doubled),
		})
	}
	return table
}

func handledCell(run Drained) string {
	var outcomes []string
	for _, outcome := range slices.Sorted(maps.Keys(run.Account.Outcomes)) {
		outcomes = append(outcomes, fmt.Sprintf("%s %d", outcome, run.Account.Outcomes[outcome]))
	}
	if len(outcomes) == 0 {
		return strconv.Itoa(run.Account.Handled)
	}
	return fmt.Sprintf("%d (%s)", run.Account.Handled, strings.Join(outcomes, ", "))
}
