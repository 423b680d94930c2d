package web

import (
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestRefsAreInNaturalOrder sorts branches and tags whose names have numbers.
func TestRefsAreInNaturalOrder(t *testing.T) {
	want := strings.Fields("refs/heads/3.1 refs/heads/3.2 refs/heads/3.02 refs/heads/3.10 refs/heads/3.10-rc refs/heads/main refs/heads/release-9 refs/heads/release-10 " +
		"refs/heads/x refs/heads/x99999999999999999999 refs/heads/x100000000000000000000 refs/tags/v1.10.0 refs/tags/v1.9.2 refs/tags/v1")
	slices.Sort(want[1:3]) // only the zero differs
	have := slices.Clone(want)
	slices.Sort(have)
	slices.SortFunc(have, func(a, b string) int { return compareRefs(code.Ref(a), code.Ref(b)) })
	if !slices.Equal(have, want) {
		t.Errorf("sorted\n%v, want\n%v", have, want)
	}
}

// TestNamedRef checks which ref the menu of a page shows if several are at its commit.
func TestNamedRef(t *testing.T) {
	refs := []source.Branch{{Ref: "refs/heads/main"}, {Ref: "refs/heads/3.1"}, {Ref: "refs/heads/both"}, {Ref: "refs/tags/v1"}, {Ref: "refs/tags/both"}}
	for _, c := range []struct {
		revision string
		found    code.Ref
		want     code.Ref
	}{
		{"", "refs/heads/main", "refs/heads/main"},
		{"v1", "refs/heads/3.1", "refs/tags/v1"},
		{"refs/tags/v1", "refs/heads/main", "refs/tags/v1"},
		{"3.1", "refs/heads/main", "refs/heads/3.1"},
		{"both", "refs/tags/both", "refs/tags/both"},
		{"both", "refs/heads/3.1", "refs/heads/both"},
		{"0123456", "refs/heads/main", ""},
		{"", "", ""},
	} {
		p := &codePage{Address: source.Address{Revision: c.revision}, found: source.Revision{Ref: c.found}}
		if have := p.namedRef(refs); have != c.want {
			t.Errorf("%q at %s: %q, want %q", c.revision, c.found, have, c.want)
		}
	}
}
