package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
)

// scanRows compares each scan with ripgrep, and with zoekt if there is a goal for it.
func (b *bench) scanRows(zoekt, quarry *figures) []report.Row {
	var rows []report.Row
	best := zoekt.bestScans()
	for i, q := range b.Scans {
		row := report.Row{Figure: fmt.Sprintf("every hit of `%s`; ripgrep %s", q.Text, medianOf(b.ripgrep, i)), Reach: "not slower than ripgrep", Verdict: notMeasured}
		row.Zoekt, row.Quarry = medianOf(zoekt.plain.scans, i), medianOf(quarry.plain.scans, i)
		if re2 := medianOf(zoekt.re2.scans, i); re2 != "" {
			row.Zoekt += " (RE2 " + re2 + ")"
		}
		rows = append(rows, scanVerdict(row, scanGoals[q.Name], timingAt(best, i), timingAt(quarry.plain.scans, i), timingAt(b.ripgrep, i)))
	}
	return rows
}

func timingAt(timings []timing, i int) timing {
	if i >= len(timings) || !timings[i].isMeasured() {
		return timing{}
	}
	return timings[i]
}

// scanVerdict compares a scan with both programs. The goal is reached only if it is
// reached for both.
func scanVerdict(row report.Row, goal float64, zoekt, quarry, ripgrep timing) report.Row {
	var ratios, missed []string
	hold := func(other timing, what string, goal float64) {
		if other.Median == 0 {
			missed = append(missed, "no comparison"+what)
			return
		}
		factor := float64(other.Median) / float64(quarry.Median)
		ratios = append(ratios, report.Times(factor)+what)
		if factor < goal {
			missed = append(missed, fmt.Sprintf("missed%s: %.2f of the goal", what, factor/goal))
		}
	}
	if goal > 0 {
		row.Reach = reachFactor(goal) + " of the better, and " + row.Reach
	}
	if quarry.Median == 0 {
		return row
	}
	if goal > 0 {
		hold(zoekt, "", goal)
	}
	hold(ripgrep, " of ripgrep", 1)
	row.Ratio, row.Verdict = strings.Join(ratios, ", "), strings.Join(missed, ", ")
	if len(missed) == 0 {
		row.Verdict = "reached"
	}
	return row
}

// bandwidthRow reports the speed of the scans as a part of the memory bandwidth. It
// counts all text per second, including text that was decompressed or skipped.
func (b *bench) bandwidthRow(quarry *figures) report.Row {
	row := report.Row{
		Figure: fmt.Sprintf("text per second of the exhaustive scans, and the part of memory's speed: all cores read %.1f GB/s (bytes.Count), bytes.Index %.1f, copy %.1f",
			b.bandwidth.Count/1e9, b.bandwidth.Index/1e9, b.bandwidth.Copy/1e9),
		Verdict: withoutGoal,
	}
	var cells []string
	for i, q := range b.Scans {
		if scanGoals[q.Name] == 0 {
			continue // the index excludes most of the text
		}
		if t := timingAt(quarry.plain.scans, i); t.Median > 0 && b.bandwidth.Count > 0 {
			speed := float64(b.allTextBytes()) / t.Median.Seconds()
			cells = append(cells, fmt.Sprintf("`%s` %.2f GB/s (%.0f %%)", q.Text, speed/1e9, 100*speed/b.bandwidth.Count))
		}
	}
	row.Quarry = strings.Join(cells, ", ")
	return row
}

// loadRows compares the throughput of both mixes with that of the better of zoekt's
// engines: more is better.
func (b *bench) loadRows(zoekt, quarry *figures) []report.Row {
	row := func(figure string, plain, re2, ours *loadFigure, goal float64) report.Row {
		row := report.Row{Figure: figure, Reach: fmt.Sprintf("≥ %.0f ×", goal), Zoekt: describeLoad(plain), Quarry: describeLoad(ours)}
		if text := describeLoad(re2); text != "" {
			row.Zoekt += "; RE2 " + text
		}
		return compareRates(row, max(queriesPerSecond(plain), queriesPerSecond(re2)), queriesPerSecond(ours), goal)
	}
	return []report.Row{
		row(fmt.Sprintf("%d clients, interactive mix, %s", loadClients, b.LoadDuration), zoekt.plain.load, zoekt.re2.load, quarry.plain.load, goalLoadFactor),
		row(fmt.Sprintf("%d clients, one in %d queries a scan, whole rounds of %d queries, %s or more", loadClients, heavyEvery, len(b.heavyMix()), b.LoadDuration),
			zoekt.plain.heavy, zoekt.re2.heavy, quarry.plain.heavy, goalHeavyFactor),
	}
}

func queriesPerSecond(f *loadFigure) float64 {
	if f == nil || f.Queries == 0 {
		return 0
	}
	return f.perSecond()
}

func describeLoad(f *loadFigure) string {
	if queriesPerSecond(f) == 0 {
		return ""
	}
	text := fmt.Sprintf("%.1f queries/s, p50 %s, p99 %s", f.perSecond(), report.Milliseconds(f.P50), report.Milliseconds(f.P99))
	if f.Errors > 0 {
		text += fmt.Sprintf(", %d errors", f.Errors)
	}
	return text
}

// stableRow reports the largest number of different lists for one repeated request, and
// the counts for a hundred matches of a common word.
func stableRow(zoekt, quarry *figures) report.Row {
	row := report.Row{Figure: fmt.Sprintf("different lists in %d answers to one limited request; matches counted for it", stableRequests), Reach: "always the same list", Verdict: notMeasured}
	describe := func(figures map[string]stableFigure) (text string, lists int) {
		var counted int
		var name string
		for n, f := range figures {
			lists = max(lists, f.Lists)
			if f.Matches > counted {
				name, counted = n, f.Matches
			}
		}
		if lists == 0 {
			return "", 0
		}
		return fmt.Sprintf("at most %d; up to %d matches (%s)", lists, counted, name), lists
	}
	var ours int
	row.Zoekt, _ = describe(zoekt.plain.stable)
	if row.Quarry, ours = describe(quarry.plain.stable); ours > 0 {
		row.Verdict = "reached"
	}
	if ours > 1 {
		row.Verdict = "missed"
	}
	return row
}

// streamRow has no goal: zoekt streams only over gRPC, which is not measured.
func streamRow(quarry *figures) report.Row {
	row := report.Row{Figure: "10,000 matches in parts: the first part / the whole answer", Verdict: notMeasured}
	var cells []string
	for _, f := range quarry.streams {
		cells = append(cells, fmt.Sprintf("`%s` %s / %s in %d", f.Query, report.Milliseconds(f.First), report.Milliseconds(f.Whole), f.Chunks))
	}
	if row.Quarry = strings.Join(cells, ", "); row.Quarry != "" {
		row.Verdict = withoutGoal
	}
	return row
}

func pushRow(zoekt, quarry *figures) report.Row {
	row := report.Row{Figure: "push of one file to Linux: webhook received → searchable", Reach: "p50 no more than its delta mode's"}
	var delta, indexed, ours []time.Duration
	for _, p := range zoekt.pushes {
		delta, indexed = append(delta, p.Searchable), append(indexed, p.Indexed)
	}
	for _, p := range quarry.pushes {
		ours = append(ours, p.Searchable)
	}
	if len(delta) > 0 {
		row.Zoekt = fmt.Sprintf("delta mode by hand: p50 %s, p99 %s (zoekt-git-index alone p50 %s)", report.Milliseconds(stat.Median(delta)),
			report.Milliseconds(stat.Quantile(delta, 0.99)), report.Milliseconds(stat.Median(indexed)))
	}
	if zoekt.normalPush != nil {
		row.Zoekt += "; normal mode " + report.Milliseconds(zoekt.normalPush.Searchable)
	}
	if len(ours) > 0 {
		row.Quarry = fmt.Sprintf("p50 %s, p99 %s", report.Milliseconds(stat.Median(ours)), report.Milliseconds(stat.Quantile(ours, 0.99)))
	}
	return compareRow(row, float64(stat.Median(indexed)), float64(stat.Median(ours)), 1)
}
