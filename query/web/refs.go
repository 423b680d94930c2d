package web

import (
	"cmp"
	"strings"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// namedRef returns the branch or tag that the revision of a page names, and without one
// the default branch; empty if the page shows a commit. Several refs may be at the commit
// of the page.
func (p *codePage) namedRef(refs []source.Branch) code.Ref {
	var named code.Ref
	for _, r := range refs {
		switch {
		case p.Revision == "" && r.Ref == p.found.Ref, string(r.Ref) == p.Revision:
			return r.Ref
		case r.Ref.Short() == p.Revision && (named == "" || r.Ref == p.found.Ref):
			named = r.Ref
		}
	}
	return named
}

// compareRefs orders refs for people: branches before tags, branches from low to high
// numbers, and tags from high to low ones, so that the newest release comes first.
func compareRefs(a, b code.Ref) int {
	switch {
	case a.IsTag() && b.IsTag():
		return compareNatural(b.Short(), a.Short())
	case a.IsTag():
		return 1
	case b.IsTag():
		return -1
	}
	return compareNatural(a.Short(), b.Short())
}

// compareNatural compares names by their texts and numbers in turn: 3.2 is before 3.10.
func compareNatural(a, b string) int {
	whole := cmp.Compare(a, b) // decides between names that differ by zeros only
	for a != "" && b != "" {
		isNumber := isDigit(a[0])
		if isNumber != isDigit(b[0]) {
			return cmp.Compare(a[0], b[0])
		}
		x, y := a[:runLength(a, isNumber)], b[:runLength(b, isNumber)]
		a, b = a[len(x):], b[len(y):]
		if isNumber {
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if order := cmp.Compare(len(x), len(y)); order != 0 {
				return order
			}
		}
		if order := cmp.Compare(x, y); order != 0 {
			return order
		}
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// runLength returns how many bytes at the start of a name are digits, or are not.
func runLength(name string, digits bool) int {
	for i := range len(name) {
		if isDigit(name[i]) != digits {
			return i
		}
	}
	return len(name)
}
