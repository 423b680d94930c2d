package repolint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Finding is one violation of a rule.
type Finding struct {
	Rule  string
	Where string // a package or a file; no line, so that sins.txt survives edits above the finding
	What  string
	Line  int // 0 for a whole package or file
}

// Sin returns the finding as a line of testdata/sins.txt.
func (f Finding) Sin() string { return f.Rule + " " + f.Where + " " + f.What }

// String returns the finding with its line, for people.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", f.Where, f.Rule, f.What)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.Where, f.Line, f.Rule, f.What)
}

// Check applies every rule and returns the findings in order.
func (t *Tree) Check() []Finding {
	all := t.checkTreeNames()
	for _, p := range t.Packages {
		for _, rule := range []func(*Package) []Finding{
			t.checkDirections, t.checkLibraries, t.checkDocs, t.checkGlobals, t.checkSleeps, t.checkRealTime, t.checkSkips, t.checkLengths, t.checkNames, t.checkWords,
		} {
			all = append(all, rule(p)...)
		}
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Where, b.Where), cmp.Compare(a.Line, b.Line), strings.Compare(a.Rule, b.Rule))
	})
	return all
}

// Compare compares findings with the list of accepted ones: fresh findings are not
// on it, stale lines are on it but no longer apply.
func Compare(findings []Finding, sins []string) (fresh []Finding, stale []string) {
	known := map[string]bool{}
	for _, sin := range sins {
		known[sin] = false
	}
	for _, f := range findings {
		if _, ok := known[f.Sin()]; ok {
			known[f.Sin()] = true
			continue
		}
		fresh = append(fresh, f)
	}
	for _, sin := range sins {
		if !known[sin] {
			stale = append(stale, sin)
		}
	}
	return fresh, stale
}
