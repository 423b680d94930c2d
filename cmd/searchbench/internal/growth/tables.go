package growth

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/stat"
)

// addInputs adds a description of the measured data to the report.
func (g *growth) addInputs() {
	g.report.Inputs = append(g.report.Inputs,
		fmt.Sprintf("one tree of %d text files, %.1f MB", len(g.base.files), float64(g.base.bytes)/1e6),
		"questions: "+kindNames(g.kinds),
		fmt.Sprintf("each asked %d times, a figure is the geometric mean of the medians of its questions", g.Rounds))
}

// stageTable returns a table with a row for each figure and a column for each stage.
func stageTable(title string, kinds []questionKind, stages []*stage) report.Table {
	t := report.Table{Title: title, Header: []string{"figure"}}
	for _, s := range stages {
		t.Header = append(t.Header, s.name)
	}
	t.Header = append(t.Header, "last ÷ first")
	row := func(figure string, value func(s *stage) float64, unit func(float64) string) {
		cells := []string{figure}
		for _, s := range stages {
			cells = append(cells, unit(value(s)))
		}
		ratio := ""
		if first := value(stages[0]); first > 0 {
			ratio = fmt.Sprintf("%.2f", value(stages[len(stages)-1])/first)
		}
		t.Rows = append(t.Rows, append(cells, ratio))
	}
	row("repositories", func(s *stage) float64 { return float64(s.repositories) }, formatCount)
	row("text, MB", func(s *stage) float64 { return float64(s.textBytes) / 1e6 }, formatCount)
	for k := range kinds {
		row(kinds[k].name, func(s *stage) float64 { return s.geometricMean(k).Seconds() * 1e3 }, formatMilliseconds)
	}
	if len(stages[0].starts) > 0 {
		row("start after kill → first right answer", func(s *stage) float64 { return stat.Median(s.starts).Seconds() * 1e3 }, formatMilliseconds)
		row("the same, files out of the page cache", func(s *stage) float64 { return stat.Median(s.cold).Seconds() * 1e3 }, formatMilliseconds)
	}
	row("resident memory, MiB", func(s *stage) float64 { return float64(s.state.residentBytes) / (1 << 20) }, formatCount)
	row("without mapped files, MiB", func(s *stage) float64 { return float64(s.state.anonymousBytes) / (1 << 20) }, formatCount)
	row("disk, MiB", func(s *stage) float64 { return float64(s.state.diskBytes) / (1 << 20) }, formatCount)
	row("segments", func(s *stage) float64 { return s.state.segments }, formatCount)
	row("tables of the store", func(s *stage) float64 { return s.state.tables }, formatCount)
	first, last := stages[0], stages[len(stages)-1]
	if more := last.repositories - first.repositories; more > 0 {
		t.Note = fmt.Sprintf("Memory for each repository beyond the first stage: %d KiB.",
			(last.state.anonymousBytes-first.state.anonymousBytes)/int64(more)>>10)
	}
	return t
}

func formatCount(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) }

func formatMilliseconds(ms float64) string { return fmt.Sprintf("%.2f ms", ms) }

// pushTable returns a table of the cost of the pushes.
func (g *growth) pushTable(h *history, f *pushFigures) report.Table {
	t := report.Table{
		Title:  "Pushes of one file",
		Note:   "From the delivery of the signed webhook to the first answer that has the new word, one push after the other.",
		Header: []string{"figure", "value"},
	}
	row := func(figure, format string, args ...any) {
		t.Rows = append(t.Rows, []string{figure, fmt.Sprintf(format, args...)})
	}
	times := func(figure string, list []time.Duration) {
		row(figure+": p50, p99", "%s, %s", report.Milliseconds(stat.Median(list)), report.Milliseconds(stat.Quantile(list, 0.99)))
	}
	n, ends := len(f.Times), min(endPushes, len(f.Times))
	row("pushes", "%d", n)
	times(fmt.Sprintf("the first %d", ends), f.Times[:ends])
	times(fmt.Sprintf("the last %d", ends), f.Times[n-ends:])
	times(fmt.Sprintf("%d more, in turn with a fresh build", len(f.aged)), f.aged)
	times("the fresh build's", f.fresh)
	row("median of the pairs, aged ÷ fresh", "%.2f", medianRatio(f.aged, f.fresh))
	row("most segments seen", "%s", formatCount(f.MaxSegments))
	g.writtenRows(row, h, f)
	return t
}

// writtenRows adds rows that compare the written bytes with the changed bytes. The
// counters include the import.
func (g *growth) writtenRows(row func(figure, format string, args ...any), h *history, f *pushFigures) {
	c := f.Counters
	changed, indexed := float64(h.changedBytes), c["quarry_indexer_text_bytes_total"]
	row("text of the files changed", "%.1f MB", changed/1e6)
	row("merges", "%s", formatCount(c["quarry_compactor_merges_total"]))
	row("text that merges wrote ÷ text of the files changed", "%.2f", c["quarry_compactor_output_bytes_total"]/changed)
	rows := c[`quarry_store_written_bytes_total{by="wal"}`] + c[`quarry_store_written_bytes_total{by="flush"}`] + c[`quarry_store_written_bytes_total{by="compaction"}`]
	row("segments built, segments merged, rows of the store, log: MB", "%.1f, %.1f, %.1f, %.1f", c["quarry_indexer_segment_bytes_total"]/1e6,
		c["quarry_compactor_output_segment_bytes_total"]/1e6, rows/1e6, c["quarry_embeddedlog_appended_bytes_total"]/1e6)
	row("their sum ÷ text indexed, import included", "%.2f", (c["quarry_indexer_segment_bytes_total"]+c["quarry_compactor_output_segment_bytes_total"]+
		rows+c["quarry_embeddedlog_appended_bytes_total"])/indexed)
	row("compactions of rows, MB", "%.1f", c[`quarry_store_written_bytes_total{by="compaction"}`]/1e6)
	row("bytes sent to the disk while pushing ÷ text of the files changed", "%.2f", float64(f.WrittenBytes)/changed)
}

// medianRatio returns the median of the ratios of pairs.
func medianRatio(a, b []time.Duration) float64 {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		ratios = append(ratios, float64(a[i])/float64(b[i]))
	}
	if len(ratios) == 0 {
		return 0
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}
