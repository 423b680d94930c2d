package web_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
)

// TestSearchInABrowser walks through the search pages in a real browser: with scripts and
// without, by keyboard only, on a phone, with a search that never ends, and with names
// that try to be markup. axe-core checks each page. QUARRY_WEB_SHOTS=DIR saves
// screenshots.
func TestSearchInABrowser(t *testing.T) {
	modules, program := oidctest.Modules(t, "axe-core"), oidctest.Browser(t)
	// Only a query with "slow" waits, forever; the other ones are quick.
	hostile := search.FileMatch{Repo: known[0], Path: `<img src=x onerror=alert(1)>/` + "\u202E" + `@main/-/blob/a%2Fb".go`, Language: "<b>"}
	hostile.Chunks = []search.Chunk{{Content: []byte("<script>alert(1)</script> kettle \u202E \x1e end\n"), Start: search.Location{LineNumber: 1, Column: 1},
		Ranges: []search.Range{{Start: search.Location{ByteOffset: 26}, End: search.Location{ByteOffset: 32}}}}}
	w := searchOf(t, 30, func(f *fakeSearches) {
		for i := range f.files {
			f.files[i].Score = float64(len(f.files) - i)
		}
		f.files = append(f.files, hostile)
		f.pause = make(chan struct{})
		f.pausesFor, f.breaksFor, f.cutFor = "slow", "broken", "cut"
		f.result.Facets = []search.Facet{
			{Name: search.FacetLanguage, Complete: true, Values: []search.FacetValue{{Value: "Go", Filter: "lang:Go", Matches: 120, Files: 30}, {Value: "C++", Filter: "lang:C++", Matches: 1, Files: 1}}},
			{Name: search.FacetDirectory, Complete: true, Values: []search.FacetValue{{Value: "<img src=x onerror=alert(1)>/", Filter: "file:^x/", Matches: 1, Files: 1}}},
			{Name: search.FacetKind, Complete: true},
		}
		for i := range 9 {
			kind := fmt.Sprintf("kind%d", i)
			f.result.Facets[2].Values = append(f.result.Facets[2].Values, search.FacetValue{Value: kind, Filter: "kind:" + kind, Matches: 1, Files: 1})
		}
		f.result.Notices = []syntax.Notice{{Code: syntax.AmbiguousQuery, Message: "It may mean another thing.", Suggestions: []string{"kettle or boil"}}}
	})
	w.refuseQueries = map[string]error{
		"limited": &front.RateError{Wait: time.Second}, "busy": front.ErrTooManyStreams, "ended": auth.ErrUnauthenticated, "lost": errors.New("a defect"),
	}
	for _, scripts := range []bool{false, true} {
		t.Run(fmt.Sprintf("scripts=%t", scripts), func(t *testing.T) {
			argument, err := json.Marshal(map[string]any{
				"modules": modules, "browser": program, "base": w.server.URL, "scripts": scripts, "shots": os.Getenv("QUARRY_WEB_SHOTS"),
			})
			if err != nil {
				t.Fatal(err)
			}
			if said, err := exec.CommandContext(t.Context(), "node", "testdata/search.mjs", string(argument)).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
		})
	}
}
