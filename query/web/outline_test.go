package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TestOutlineFolds checks which runs of definitions are folded: long ones of plain members.
func TestOutlineFolds(t *testing.T) {
	var found []code.Definition
	add := func(kind code.SymbolKind, line, end uint32) {
		found = append(found, code.Definition{Symbol: code.Symbol{Name: fmt.Sprint(kind, line), Kind: kind, Line: line, EndLine: end}})
	}
	add("struct", 1, 40)
	for line := range uint32(minFolded) {
		add("field", line+2, 0)
	}
	add("method", 20, 25)
	for line := range uint32(minFolded - 1) {
		add("field", line+26, 0)
	}
	for line := range uint32(2 * minFolded) {
		add("key", line+50, 0)
	}
	rows := newOutlineRows(found, "/f")
	foldPlainRows(rows)
	var got []string
	for i, r := range rows {
		if r.Folded > 0 {
			got = append(got, fmt.Sprintf("%d of %s from %d", r.Folded, r.Kind, i))
		}
		if r.EndsFold {
			got = append(got, fmt.Sprintf("to %d", i))
		}
	}
	if got, want := strings.Join(got, ", "), fmt.Sprintf("%d of field from 1, to %d", minFolded, minFolded); got != want {
		t.Errorf("folded: %s; want %s", got, want)
	}
}
