package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table prints rows in aligned columns. Every cell is safe for a terminal, and an empty one
// is a dash.
type table struct {
	*tabwriter.Writer // it keeps its error for Flush
	indent            string
}

// newTable returns a table that begins with a header, unless that is empty. The caller must
// call Flush.
func newTable(out io.Writer, header ...string) *table {
	t := &table{Writer: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	if len(header) > 0 {
		t.row(header...)
	}
	return t
}

func (t *table) row(cells ...string) {
	line := make([]string, len(cells))
	for i, cell := range cells {
		line[i] = cmp.Or(escapeCell(cell), "-")
	}
	_, _ = fmt.Fprintln(t.Writer, t.indent+strings.Join(line, "\t"))
}
