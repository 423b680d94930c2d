package precise_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/projections/scip/sciptest"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestDefiner checks whose definitions, descriptions and implementations of a symbol count,
// when repository 7 defines it, repository 8 defines it as well, and repository 9 uses it.
func TestDefiner(t *testing.T) {
	w := newWorld(t, nil)
	w.files["evil.go"], w.files["use.go"] = potText, potText
	forged := func(symbol string, parts ...sciptest.Message) sciptest.Message {
		m := sciptest.Message{}.Text(1, symbol).Text(3, "Forged.")
		for _, p := range parts {
			m = m.Part(4, p)
		}
		return sciptest.Message{}.Part(3, m)
	}
	implements := sciptest.Message{}.Text(1, ware).Number(3, 1)
	w.mustUpload(8, "", sciptest.NewIndex("scip-go").Part(2, sciptest.NewDocument("evil.go",
		part(boil, 1, 2, 5, 9), part(boilV2, 1, 2, 5, 9), part(kettle, 1, 4, 5, 11), forged(boil, implements), forged(boilV2), forged(kettle))))
	w.mustUpload(9, "", sciptest.NewIndex("scip-go").Part(2, sciptest.NewDocument("use.go", part(boilV2, 0, 2, 5, 9))))
	w.mustUpload(7, "", potIndex("pot.go"))
	among := []code.RepositoryID{8, 9, 7}
	for _, c := range []struct {
		name string
		near code.RepositoryID
		path string
		o    precise.Owners
		want string // files, description, implementers of ware
	}{
		{"at home", 7, "pot.go", nil, "7 pot.go|Boil boils.|Kettle#"},
		{"at home, and another one has the manifest", 7, "pot.go", owners{"example.com/pot": 8}, "7 pot.go|Boil boils.|Kettle#"},
		{"in the repository of the claims", 8, "evil.go", nil, "8 evil.go|Forged.|Boil()."},
		{"where it is used, with an owner", 9, "use.go", owners{"example.com/pot": 7}, "7 pot.go|Boil boils.|Kettle#"},
		{"where it is used, without an owner", 9, "use.go", owners{}, "||"},
		{"where it is used, without owners", 9, "use.go", nil, "||"},
	} {
		scope := func(name string) *precise.Scope {
			return &precise.Scope{Near: precise.Symbol{Repository: c.near, Path: c.path, Name: name}, Among: among, Owners: c.o}
		}
		var files, implementers []string
		found, _ := w.store.Files(t.Context(), scope(boilV2), []string{boilV2}, precise.Definition)
		for _, f := range found {
			files = append(files, fmt.Sprint(f.Repository, " ", f.Path))
		}
		for _, name := range w.store.Implementers(t.Context(), scope(ware)) {
			implementers = append(implementers, name[strings.LastIndexByte(name, '/')+1:])
		}
		text := ""
		if i := w.store.Describe(t.Context(), scope(boilV2)); i != nil {
			text = i.Documentation
		}
		if got := strings.Join(files, ", ") + "|" + text + "|" + strings.Join(implementers, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestConfiguredOwner checks that a name counts before a pattern, and a long pattern before
// a short one.
func TestConfiguredOwner(t *testing.T) {
	w := newWorld(t, func(o *precise.Options) {
		o.Packages = map[string]string{"npm @meadow/*": "meadow", "npm @meadow/pot*": "pots", "npm @meadow/pot": "pot", "gomod *": "all"}
	})
	for _, c := range []struct{ manager, name, want string }{
		{"npm", "@meadow/pot", "pot"}, {"npm", "@meadow/pots", "pots"}, {"npm", "@meadow/ware", "meadow"}, {"npm", "meadow", ""}, {"gomod", "x", "all"}, {"cargo", "x", ""},
	} {
		if got, ok := w.store.ConfiguredOwner(scip.Package{Manager: c.manager, Name: c.name}); got != c.want || ok != (c.want != "") {
			t.Errorf("%s %s: %q, %t, want %q", c.manager, c.name, got, ok, c.want)
		}
	}
}
