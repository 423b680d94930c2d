package main

import (
	"strings"
	"testing"
)

// TestTable prints a header and rows with cells that are empty, or that would change the
// table or the terminal.
func TestTable(t *testing.T) {
	var out strings.Builder
	table := newTable(&out, "NAME", "VALUE")
	table.row("a", "")
	table.row("two\tcells", "red \x1b[31m\nline")
	table.indent = "  "
	table.row("longer than others", "x")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `NAME                  VALUE
a                     -
two\tcells            red \u001b[31m\nline
  longer than others  x
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}
