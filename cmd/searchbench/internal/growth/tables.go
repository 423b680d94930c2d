package growth

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/report"
)

// input tells the report what was measured on.
func (g *growth) input() {
	g.report.Inputs = append(g.report.Inputs,
		fmt.Sprintf("one tree of %d text files, %.1f MB", len(g.base.files), float64(g.base.bytes)/1e6),
		"questions: "+names(g.kinds),
		fmt.Sprintf("each asked %d times, a figure is the geometric mean of the medians of its questions", g.Rounds))
}

// stageTable has a row for each figure and a column for each stage.
func stageTable(title string, kinds []kind, stages []*stage) report.Table {
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
	row("repositories", func(s *stage) float64 { return float64(s.repositories) }, count)
	row("text, MB", func(s *stage) float64 { return float64(s.textBytes) / 1e6 }, count)
	for k := range kinds {
		row(kinds[k].name, func(s *stage) float64 { return s.figure(k).Seconds() * 1e3 }, milliseconds)
	}
	if len(stages[0].starts) > 0 {
		row("start after kill → first right answer", func(s *stage) float64 { return median(s.starts).Seconds() * 1e3 }, milliseconds)
		row("the same, files out of the page cache", func(s *stage) float64 { return median(s.cold).Seconds() * 1e3 }, milliseconds)
	}
	row("resident memory, MiB", func(s *stage) float64 { return float64(s.state.residentBytes) / (1 << 20) }, count)
	row("without mapped files, MiB", func(s *stage) float64 { return float64(s.state.anonymousBytes) / (1 << 20) }, count)
	row("disk, MiB", func(s *stage) float64 { return float64(s.state.diskBytes) / (1 << 20) }, count)
	row("segments", func(s *stage) float64 { return s.state.segments }, count)
	row("tables of the store", func(s *stage) float64 { return s.state.tables }, count)
	first, last := stages[0], stages[len(stages)-1]
	if more := last.repositories - first.repositories; more > 0 {
		t.Note = fmt.Sprintf("Memory for each repository beyond the first stage: %d KiB.",
			(last.state.anonymousBytes-first.state.anonymousBytes)/int64(more)>>10)
	}
	return t
}

func count(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) }

func milliseconds(ms float64) string { return fmt.Sprintf("%.2f ms", ms) }

// pushTable says what the pushes cost.
func (g *growth) pushTable(h *history, f *pushFigures, now state) report.Table {
	t := report.Table{
		Title:  "Pushes of one file",
		Note:   "From the delivery of the signed web hook to the first answer that has the new word, one push after the other.",
		Header: []string{"figure", "value"},
	}
	row := func(figure, format string, args ...any) {
		t.Rows = append(t.Rows, []string{figure, fmt.Sprintf(format, args...)})
	}
	n := len(f.history)
	ends := min(endPushes, n)
	row("pushes", "%d", n)
	row(fmt.Sprintf("the first %d: p50, p99", ends), "%s, %s", report.Milliseconds(median(f.history[:ends])), report.Milliseconds(quantile(f.history[:ends], 0.99)))
	row(fmt.Sprintf("the last %d: p50, p99", ends), "%s, %s", report.Milliseconds(median(f.history[n-ends:])), report.Milliseconds(quantile(f.history[n-ends:], 0.99)))
	row(fmt.Sprintf("%d more, in turn with a fresh build: p50, p99", len(f.aged)), "%s, %s", report.Milliseconds(median(f.aged)), report.Milliseconds(quantile(f.aged, 0.99)))
	row("the fresh build's", "%s, %s", report.Milliseconds(median(f.fresh)), report.Milliseconds(quantile(f.fresh, 0.99)))
	row("most segments seen", "%s", count(f.maxSegments))
	m := now.metrics
	row("text of the files changed", "%.1f MB", float64(h.changedBytes)/1e6)
	row("text that merges wrote ÷ text indexed, import included", "%.2f", m["quarry_compactor_output_bytes_total"]/m["quarry_indexer_text_bytes_total"])
	row("bytes written to the disk while pushing ÷ text of the files changed", "%.2f", float64(f.written)/float64(h.changedBytes))
	for _, name := range sortedNames(m) {
		if strings.HasPrefix(name, "quarry_store_written_bytes_total{") {
			row("`"+name+"`", "%.1f MB", m[name]/1e6)
		}
	}
	return t
}
