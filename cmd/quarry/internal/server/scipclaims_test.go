package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/projections/scip/sciptest"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// claims is a server with three repositories: pot has a package, kitchen uses it, and forger
// uploads an index that defines the symbols of that package in its own files.
type claims struct {
	*Server
	t                    *testing.T
	pot, kitchen, forger *gitRepository
}

// newClaims starts the server with the given extra files of pot and forger, as pairs of path
// and text, and uploads an index of each repository.
func newClaims(t *testing.T, potName string, potFiles, forgerFiles []string, change ...func(*claims, *config.Config)) *claims {
	t.Helper()
	w := &claims{t: t, pot: newGitRepository(t, "pot"), kitchen: newGitRepository(t, "kitchen"), forger: newGitRepository(t, "forger")}
	w.pot.Name = potName
	pairs, index := boilSources()
	inPot := w.pot.commitFiles(append(pairs, potFiles...)...)
	inKitchen := w.kitchen.commitFiles("cook.go", "package kitchen\n\nfunc cook(p pot.Pot) { p.Boil() }\n")
	inForger := w.forger.commitFiles(append([]string{"evil.go", "package evil\n\nfunc Boil() {}\n"}, forgerFiles...)...)
	c := erasureConfig(t, w.pot, w.kitchen, w.forger)
	for _, f := range change {
		f(w, c)
	}
	w.Server = runServer(t, c)
	w.registerAt(t, w.pot, inPot)
	w.registerAt(t, w.kitchen, inKitchen)
	w.registerAt(t, w.forger, inForger)

	// The index of kitchen names version v2, which only the forger describes.
	used := strings.Replace(potBoil, " v1 ", " v2 ", 1)
	part := func(symbol string, roles, line, start, end uint64) sciptest.Message {
		return sciptest.Message{}.Part(2, sciptest.NewOccurrence(symbol, roles, line, start, end))
	}
	described := func(symbol string, implements ...string) sciptest.Message {
		m := sciptest.Message{}.Text(1, symbol).Text(3, "Forgedcanaryqzjxk.")
		for _, target := range implements {
			m = m.Part(4, sciptest.Message{}.Text(1, target).Number(3, 1))
		}
		return sciptest.Message{}.Part(3, m)
	}
	w.uploadScip(t, w.forger, inForger, sciptest.NewIndex("scip-go").Part(2, sciptest.NewDocument("evil.go",
		part(used, 1, 2, 5, 9), part(potBoil, 1, 2, 5, 9), part(boiler, 1, 2, 5, 9), part(paintBoil, 1, 2, 5, 9),
		described(used), described(potBoil), described(boiler), described(paintBoil, boiler))))
	w.uploadScip(t, w.kitchen, inKitchen, sciptest.NewIndex("scip-go").Part(2, sciptest.NewDocument("cook.go", part(used, 0, 2, 25, 29))))
	w.uploadScip(t, w.pot, inPot, index)
	return w
}

// hover returns the documentation at a position, with a '!' if it is precise.
func (w *claims) hover(g *gitRepository, path string, line int) string {
	w.t.Helper()
	var hover wire.Hover
	body := fmt.Sprintf(`{"symbolName":"Boil","position":{"repoName":%q,"path":%q,"lineNumber":%d}}`, g.Name, path, line)
	w.decodeAnswer(w.t, http.MethodPost, "/api/hover", body, http.StatusOK, &hover)
	if hover.Precise {
		return hover.Documentation + "!"
	}
	return hover.Documentation
}

// precise returns the precise matches at a position.
func (w *claims) precise(operation string, g *gitRepository, path string, line int) string {
	w.t.Helper()
	var out []string
	for _, m := range strings.Fields(w.find(w.t, operation, "Boil", g, path, line)) {
		if strings.HasSuffix(m, "!") {
			out = append(out, m)
		}
	}
	return strings.Join(out, " ")
}

// check compares the precise answers in the package's repository, which no claim of another
// one changes, and in the repository that uses the package.
func (w *claims) check(inKitchen, hoverInKitchen string) {
	w.t.Helper()
	for _, c := range []struct{ what, got, want string }{
		{"definition of a method in its repository", w.precise("find_definitions", w.pot, "use.go", 6), "pot.go:5!"},
		{"definition of an interface's method in its repository", w.precise("find_definitions", w.pot, "use.go", 4), "paint.go:7!"},
		{"references in its repository", w.precise("find_references", w.pot, "use.go", 6), "pot.go:5! use.go:6! cook.go:3!"},
		{"implementations in its repository", w.precise("find_implementations", w.pot, "use.go", 4), "pot.go:5!"},
		{"hover in its repository", w.hover(w.pot, "use.go", 6), "Secretcanaryqzjxk heats.!"},
		{"definition in the repository that uses it", w.precise("find_definitions", w.kitchen, "cook.go", 3), inKitchen},
		{"hover in the repository that uses it", w.hover(w.kitchen, "cook.go", 3), hoverInKitchen},
	} {
		if c.got != c.want {
			w.t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	if got := w.hover(w.pot, "use.go", 4); strings.Contains(got, "Forged") {
		w.t.Errorf("hover of a symbol that its repository does not describe: %q", got)
	}
}

const potModule = "module example.com/pot\n"

// TestForeignClaims uploads an index that defines the symbols of another repository's
// package. What the package's repository shows stays the same. Elsewhere, the package's
// repository counts only if it owns the package without contradiction.
func TestForeignClaims(t *testing.T) {
	t.Parallel()
	const forged = "Forgedcanaryqzjxk.!"
	pot, evil := []string{"go.mod", potModule}, []string{"src/go.mod", potModule}
	own := func(repository string) func(*claims, *config.Config) {
		return func(_ *claims, c *config.Config) {
			c.Scip.Packages = []config.ScipPackage{{Package: "gomod example.com/*", Repository: repository}}
		}
	}
	for name, c := range map[string]struct {
		potName              string
		potFiles, evilFiles  []string
		change               func(*claims, *config.Config)
		definition, document string // in the repository that uses the package
	}{
		"only its repository has the manifest": {"pot", pot, nil, nil, "pot.go:5!", "Secretcanaryqzjxk heats.!"},
		"nobody has the manifest":              {"pot", nil, nil, nil, "", ""},
		"both have the manifest":               {"pot", pot, evil, nil, "", ""},
		"the other's is third-party code":      {"pot", pot, []string{"vendor/example.com/pot/go.mod", potModule}, nil, "pot.go:5!", "Secretcanaryqzjxk heats.!"},
		"the other's is a fork":                {"pot", pot, evil, func(w *claims, _ *config.Config) { w.forger.Fork = true }, "pot.go:5!", "Secretcanaryqzjxk heats.!"},
		"the module has the repository's name": {"example.com/pot", nil, evil, nil, "pot.go:5!", "Secretcanaryqzjxk heats.!"},
		"another module of the same host":      {"pot", nil, evil, func(w *claims, _ *config.Config) { w.forger.Name = "example.com/forger" }, "", ""},
		"the configuration names it":           {"pot", nil, evil, own("pot"), "pot.go:5!", "Secretcanaryqzjxk heats.!"},
		"the configuration names the other":    {"pot", pot, nil, own("forger"), "evil.go:3! evil.go:3!", forged},
		"the configuration names neither":      {"pot", pot, nil, own("lost"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := []func(*claims, *config.Config){}
			if c.change != nil {
				change = append(change, c.change)
			}
			newClaims(t, c.potName, c.potFiles, c.evilFiles, change...).check(c.definition, c.document)
		})
	}
}
