package repolint

import (
	"slices"
	"strings"
)

// direction says what the packages below a path may import of this module.
// The first direction that holds a package decides.
type direction struct {
	below string
	may   []string
}

// formats are the packages that describe bytes and hold no state of their own,
// so that the sides that write and read them may both import them.
var formats = []string{"projections/postings", "projections/segment", "projections/segmentstore", "projections/integrity"}

var directions = []direction{
	{"schemas/code", nil},
	{"schemas", []string{"schemas"}},
	{"ingest", []string{"schemas", "ingest"}},
	{"pipeline", append([]string{"schemas", "pipeline"}, formats...)},
	{"projections", []string{"schemas", "projections"}},
	{"query/syntax", []string{"schemas", "query/syntax"}},
	{"query/reading", []string{"schemas", "query/syntax", "query/reading"}},
	{"query/plan", append([]string{"schemas", "query/syntax", "query/plan"}, formats...)},
	{"query/api", append([]string{"schemas", "query"}, formats...)},
	{"query/mcp", append([]string{"schemas", "query"}, formats...)},
	{"query/web", append([]string{"schemas", "query"}, formats...)},
	// search, navigate, source and auth: everything below api and web.
	{"query", append([]string{"schemas", "query/syntax", "query/reading", "query/plan", "query/search", "query/navigate", "query/source", "query/auth"}, formats...)},
	{"cmd", []string{"schemas", "ingest", "pipeline", "projections", "query", "cmd/internal"}},
}

// testsMay are imports that tests may have in addition to those of their package:
// the conformance suites and helpers of a contract.
var testsMay = []string{"pipeline/eventlog", "projections/projectiontest", "schemas"}

// checkDirections reports imports that go against the arrows.
func (t *Tree) checkDirections(p *Package) []Finding {
	i := slices.IndexFunc(directions, func(d direction) bool { return isBelow(p.Path, d.below) })
	if i < 0 {
		return []Finding{{Rule: "imports", Where: p.Path, What: "lies in none of the folders of the layout"}}
	}
	var findings []Finding
	report := func(imported string, may []string) {
		if local, ok := strings.CutPrefix(imported, Module+"/"); ok && !isAllowed(p.Path, local, may) {
			findings = append(findings, Finding{Rule: "imports", Where: p.Path, What: "may not import " + local})
		}
	}
	for _, imported := range p.Imports {
		report(imported, directions[i].may)
	}
	for _, imported := range p.TestImports {
		report(imported, append(slices.Clone(directions[i].may), testsMay...))
	}
	return findings
}

// isAllowed reports whether importer may import imported: it is its own subtree, a
// helper of a parent of both, or below one of may.
func isAllowed(importer, imported string, may []string) bool {
	parent, _, helper := strings.Cut(imported, "/internal/")
	return importer == imported || isBelow(imported, importer) ||
		(helper && isBelow(importer, parent)) ||
		slices.ContainsFunc(may, func(folder string) bool { return isBelow(imported, folder) })
}

func isBelow(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// cage says where an outside library may appear.
type libraryRule struct {
	library string
	// packages may import it anywhere; files are names of files that may, in
	// any package.
	packages []string
	files    []string
	// tests anywhere may import it.
	tests bool
}

var libraryRules = []libraryRule{
	{library: "github.com/cockroachdb/pebble", packages: []string{"projections/store", "projections/segment", "projections/integrity", "pipeline/eventlog/embeddedlog"}},
	{library: "github.com/segmentio/kafka-go", packages: []string{"pipeline/eventlog/kafkalog"}},
	{library: "golang.org/x/crypto", packages: []string{"query/auth"}},
	{library: "github.com/gorilla/mux", packages: []string{"ingest/webhook", "query/api", "query/web"}},
	{library: "github.com/modelcontextprotocol/go-sdk", packages: []string{"query/mcp"}, tests: true},
	{library: "github.com/prometheus/client_golang", packages: []string{"cmd/internal/boot", "cmd/quarry"}, files: []string{"metrics.go"}, tests: true},
	{library: "github.com/alecthomas/kong", packages: []string{"cmd"}},
	{library: "github.com/spf13", packages: []string{"cmd/quarry"}},
	{library: "github.com/coreos/go-oidc", packages: []string{"query/auth/oidc"}},
	{library: "golang.org/x/oauth2", packages: []string{"query/auth/oidc"}},
	{library: "github.com/goccy/go-yaml", packages: []string{"cmd", "schemas/openapi"}, tests: true},
}

// registererOnly is what any file may take from client_golang: the interface
// that constructors pass on to newMetrics.
const registererOnly = "github.com/prometheus/client_golang/prometheus"

// checkLibraries reports outside libraries beyond their cages.
func (t *Tree) checkLibraries(p *Package) []Finding {
	var findings []Finding
	for _, files := range [][]*File{p.Files, p.TestFiles} {
		for _, f := range files {
			for _, spec := range f.Syntax.Imports {
				path := strings.Trim(spec.Path.Value, `"`)
				for _, c := range libraryRules {
					if isBelow(path, c.library) && !c.allowsFile(p, f) && !passesRegisterer(f, path) {
						findings = append(findings, Finding{Rule: "quarantine", Where: f.Name, What: "may not import " + path, Line: t.lineNumber(spec.Pos())})
					}
				}
			}
		}
	}
	return findings
}

func (c libraryRule) allowsFile(p *Package, f *File) bool {
	base := f.Name[strings.LastIndexByte(f.Name, '/')+1:]
	return slices.ContainsFunc(c.packages, func(folder string) bool { return isBelow(p.Path, folder) }) ||
		slices.Contains(c.files, base) || (c.tests && strings.HasSuffix(base, "_test.go"))
}
