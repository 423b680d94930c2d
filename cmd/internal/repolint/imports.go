package repolint

import (
	"slices"
	"strings"
)

// direction lists the packages of this module that the packages below a path may import.
// The first matching direction decides.
type direction struct {
	below string
	may   []string
}

// formats are the packages that describe bytes and hold no state, so that both writers
// and readers may import them.
var formats = []string{"projections/postings", "projections/segment", "projections/segmentstore", "projections/integrity", "projections/scip"}

var directions = []direction{
	{"schemas/code", nil},
	{"schemas", []string{"schemas"}},
	{"ingest", []string{"schemas", "ingest"}},
	// These answer from mirrors or workers and from the projections.
	{"pipeline/verify", []string{"schemas", "pipeline", "projections"}},
	{"pipeline/erasurerequests", []string{"schemas", "pipeline", "projections"}},
	{"pipeline/repartition", []string{"schemas", "pipeline", "projections"}},
	{"pipeline/indexstatus", []string{"schemas", "pipeline", "projections"}},
	{"pipeline", append([]string{"schemas", "pipeline"}, formats...)},
	{"projections/versions/versionstest", []string{"schemas", "projections", "pipeline/eventlog"}},
	{"projections", []string{"schemas", "projections"}},
	{"query/syntax", []string{"schemas", "query/syntax"}},
	{"query/publicurl", nil},
	{"query/reading", []string{"schemas", "query/syntax", "query/reading"}},
	{"query/plan", append([]string{"schemas", "query/syntax", "query/plan"}, formats...)},
	// The layers of a search: each imports only those above it in this list.
	{"query/corpus", append([]string{"schemas"}, formats...)},
	{"query/search/searchtest", append([]string{"schemas", "query/syntax", "query/corpus"}, formats...)},
	{"query/match", append([]string{"schemas", "query/syntax", "query/plan", "query/corpus"}, formats...)},
	{"query/search", append([]string{"schemas", "query/syntax", "query/reading", "query/plan", "query/corpus", "query/match"}, formats...)},
	{"query/assist", append([]string{"schemas", "query/syntax", "query/reading", "query/plan", "query/corpus", "query/search"}, formats...)},
	{"query/api", append([]string{"schemas", "query"}, formats...)},
	{"query/front", []string{"schemas", "query/auth", "query/front", "query/publicurl"}},
	{"query/live", []string{"schemas", "query/live"}},
	{"query/mcp", append([]string{"schemas", "query"}, formats...)},
	{"query/rpc", append([]string{"schemas", "query/syntax", "query/plan", "query/corpus", "query/search", "query/source"}, formats...)},
	{"query/shards", append([]string{"schemas", "query/api", "query/auth", "query/rpc", "query/corpus", "query/search", "query/source", "query/syntax"}, formats...)},
	{"query/web", []string{"schemas", "query/auth", "query/client", "query/front", "query/plan", "query/publicurl", "query/corpus", "query/search", "query/source", "query/syntax", "query/web"}},
	// These are navigate, source and auth: everything else below api and web.
	{"query", append([]string{"schemas", "query/syntax", "query/reading", "query/plan", "query/corpus", "query/search", "query/precise", "query/navigate", "query/source", "query/auth", "query/publicurl"}, formats...)},
	// The parts of the server do not know each other or their callers.
	{"cmd/quarry/internal/secrets", []string{"schemas", "cmd/internal", "pipeline/backup"}},
	{"cmd/quarry/internal/datadir", []string{"schemas", "cmd/internal", "pipeline/backup", "projections/diskspace", "cmd/quarry/internal/secrets"}},
	{"cmd/quarry/internal/segmentdriver", []string{"projections/segmentstore", "cmd/internal/config"}},
	{"cmd/quarry/internal/logdriver", []string{"schemas", "pipeline/eventlog", "cmd/internal", "cmd/quarry/internal/datadir"}},
	{"cmd/quarry/internal/codehosts", []string{"schemas", "ingest", "pipeline/discovery", "pipeline/mirror", "cmd/internal/config"}},
	{"cmd/quarry/internal/connections", []string{"schemas", "pipeline/discovery", "pipeline/permissions", "query/api", "cmd/internal", "cmd/quarry/internal/codehosts"}},
	{"cmd/quarry/internal/registry", []string{
		"schemas", "ingest/webhook", "pipeline/discovery", "pipeline/eventlog", "pipeline/mirror", "pipeline/pins", "projections", "query/api", "query/corpus",
		"cmd/internal/boot", "cmd/internal/config",
	}},
	{"cmd/quarry/internal/gitreads", []string{"schemas", "pipeline/analyze", "pipeline/gittest", "pipeline/mirror", "pipeline/verify", "projections", "query/rpc", "query/source"}},
	{"cmd/quarry/internal/views", []string{"schemas", "pipeline/compactor", "projections", "query/rpc", "query/corpus", "query/search", "query/source", "query/syntax"}},
	{"cmd", []string{"schemas", "ingest", "pipeline", "projections", "query", "cmd/internal"}},
}

// testsMay lists imports that tests may have in addition to those of their package: the
// conformance suites and helpers of a contract, and the reader of tokens, which queries
// know only as an interface.
var testsMay = []string{"pipeline/eventlog", "pipeline/analyze", "projections/projectiontest", "query/search/searchtest", "query/assist", "schemas"}

// checkDirections reports imports that no direction allows.
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

// isAllowed reports whether importer may import imported: it is in importer's own
// subtree, a helper of a common parent, or below an element of may.
func isAllowed(importer, imported string, may []string) bool {
	parent, _, helper := strings.Cut(imported, "/internal/")
	return importer == imported || isBelow(imported, importer) ||
		(helper && isBelow(importer, parent)) ||
		slices.ContainsFunc(may, func(folder string) bool { return isBelow(imported, folder) })
}

func isBelow(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// libraryRule defines where an external library may appear.
type libraryRule struct {
	library string
	// packages may import the library in any file. files are names of files that may
	// import it in any package.
	packages []string
	files    []string
	// tests is set if all tests may import the library.
	tests bool
}

var libraryRules = []libraryRule{
	{library: "github.com/cockroachdb/pebble", packages: []string{"projections/store", "projections/segment", "projections/integrity", "pipeline/eventlog/embeddedlog"}},
	{library: "github.com/segmentio/kafka-go", packages: []string{"pipeline/eventlog/kafkalog"}},
	{library: "golang.org/x/crypto", packages: []string{"query/auth"}, tests: true},
	{library: "github.com/minio/minio-go", packages: []string{"projections/segmentstore"}},
	{library: "github.com/gorilla/mux", packages: []string{"ingest/webhook", "query/api", "query/web"}},
	{library: "github.com/modelcontextprotocol/go-sdk", packages: []string{"query/mcp"}, tests: true},
	{library: "github.com/prometheus/client_golang", packages: []string{"cmd/internal/boot", "cmd/quarry"}, files: []string{"metrics.go"}, tests: true},
	{library: "go.opentelemetry.io", packages: []string{"schemas/tracing", "cmd/internal/traces"}, tests: true},
	{library: "github.com/alecthomas/kong", packages: []string{"cmd"}},
	{library: "github.com/spf13", packages: []string{"cmd/quarry"}},
	{library: "github.com/coreos/go-oidc", packages: []string{"query/auth/oidc"}},
	{library: "golang.org/x/oauth2", packages: []string{"query/auth/oidc"}},
	{library: "github.com/google/go-github", packages: []string{"pipeline/discovery/github"}},
	{library: "github.com/google/go-containerregistry", packages: []string{"cmd/internal/image"}},
	{library: "github.com/goccy/go-yaml", packages: []string{"cmd"}, tests: true},
}

// registererOnly is the package of client_golang from which any file may use the
// interface that constructors pass to newMetrics.
const registererOnly = "github.com/prometheus/client_golang/prometheus"

// checkLibraries reports imports of external libraries that no rule allows.
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
