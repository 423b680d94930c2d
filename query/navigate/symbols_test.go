package navigate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/search"
)

// TestSymbolsOfParent lists the symbols of a parent that follow more symbols than the
// limit.
func TestSymbolsOfParent(t *testing.T) {
	var c scripted
	var b strings.Builder
	b.WriteString("package p\n\n")
	for i := range navigate.MaxSymbols + 100 {
		fmt.Fprintf(&b, "func f%d() {}\n", i)
	}
	b.WriteString("\ntype Last struct{ field int }\n")
	c.add("r", "p.go", b.String())
	n := navigate.New(search.New(search.Options{MaxDuration: 10 * time.Hour}), analyze.Outline{Timeout: -1})
	for request, want := range map[navigate.SymbolsRequest]string{
		{Repository: "r", Parent: "Last"}:                 "[field] true",
		{Repository: "r", Parent: "Last", Prefix: "fie"}:  "[field] true",
		{Repository: "r", Parent: "Last", Kind: "method"}: "[] true",
		{Repository: "r", Parent: "last"}:                 "[] true",
		{Repository: "r", Prefix: "last"}:                 "[Last] true",
	} {
		found, err := n.Symbols(t.Context(), c.view(t), request)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, s := range found.Symbols {
			names = append(names, s.Symbol.Name)
		}
		if got := fmt.Sprint(names, " ", found.Exhaustive); got != want {
			t.Errorf("%+v: %.200s, want %s", request, got, want)
		}
	}
	if all, err := n.Symbols(t.Context(), c.view(t), navigate.SymbolsRequest{Repository: "r"}); err != nil || all.Exhaustive || len(all.Symbols) != navigate.MaxSymbols {
		t.Errorf("all: %v, %v", all, err)
	}
}
