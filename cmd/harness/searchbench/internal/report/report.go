package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Row is one row of the main table: the same figure of both programs.
type Row struct {
	Figure string
	Zoekt  string
	Quarry string
	// Ratio is how many times better Quarry is (above 1) or worse. It is empty if one of
	// the figures is missing.
	Ratio string
	Reach string
	// Verdict reports whether Reach was reached, and by how much it was missed.
	Verdict string
}

// Report contains the results of one run.
type Report struct {
	Title   string
	Machine Machine
	Inputs  []string // corpora, versions, settings, one line each
	// Compared is the heading of the column with the program that Quarry is compared
	// with. Default: zoekt.
	Compared string
	Rows     []Row
	Missing  []string // figures that could not be measured or compared, with the reason
	Tables   []Table
}

// Table is a detailed table below the main table.
type Table struct {
	Title  string
	Note   string
	Header []string
	Rows   [][]string
}

// Markdown returns the report as Markdown.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n", r.Title, r.Machine)
	for _, line := range r.Inputs {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	rows := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		rows[i] = []string{row.Figure, row.Zoekt, row.Quarry, row.Ratio, row.Reach, row.Verdict}
	}
	if len(rows) > 0 {
		b.WriteByte('\n')
		writeTable(&b, []string{"figure", cmp.Or(r.Compared, "zoekt"), "quarry", "ratio", "reach", ""}, rows)
	}
	if len(r.Missing) > 0 {
		b.WriteString("\nNot measured or not compared:\n\n")
		for _, line := range r.Missing {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n### %s\n\n", t.Title)
		if t.Note != "" {
			fmt.Fprintf(&b, "%s\n\n", t.Note)
		}
		writeTable(&b, t.Header, t.Rows)
	}
	return b.String()
}

// Markdown returns the table alone, without title and note.
func (t Table) Markdown() string {
	var b strings.Builder
	writeTable(&b, t.Header, t.Rows)
	return b.String()
}

func writeTable(b *strings.Builder, header []string, rows [][]string) {
	writeRow(b, header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	writeRow(b, rule)
	for _, row := range rows {
		writeRow(b, row)
	}
}

func writeRow(b *strings.Builder, cells []string) {
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ") + " ")
	}
	b.WriteString("|\n")
}

// Milliseconds formats a duration with about three significant figures.
func Milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d == 0:
		return ""
	case ms >= 10_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms >= 1000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.2f ms", ms)
}

// MiB formats a number of bytes.
func MiB(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// Times formats a ratio.
func Times(f float64) string { return fmt.Sprintf("%.2f ×", f) }
