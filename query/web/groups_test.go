package web_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
)

// TestGroups counts matches by a property, and refuses what results refuse.
func TestGroups(t *testing.T) {
	var searches *fakeSearches
	w := searchOf(t, 1, func(f *fakeSearches) {
		searches, f.reason = f, "display limit"
		directories := search.Facet{Name: search.FacetDirectory, Complete: true, More: true}
		for i := range 40 {
			directories.Values = append(directories.Values, search.FacetValue{Value: fmt.Sprintf("<d%d>/", i), Filter: fmt.Sprintf("file:^d%d/", i), Matches: 400 - i, Files: 2})
		}
		f.result.Facets = []search.Facet{directories, {Name: search.FacetKind, Values: []search.FacetValue{{Value: "func", Filter: "kind:func", Matches: 1}}}}
	})
	b := w.browser.get("/search/groups?q=kettle&by=directory&case=1").expectPage(http.StatusOK, "4 matches in 1 file", "all of them", "<d39>/", "361", "2 files", "with fewer matches")
	for _, link := range []string{"/search?case=1&amp;q=kettle&#43;file%3A%5Ed39%2F", "/search/groups?case=1&amp;q=kettle&#43;file%3A%5Ed39%2F&amp;by=directory", "/search/groups?case=1&amp;q=kettle&amp;by=language"} {
		if !strings.Contains(b.page, `href="`+link+`"`) {
			t.Errorf("no link %s in\n%s", link, b.page)
		}
	}
	if r := searches.request; r.FacetValues != search.MaxGroups || r.Display != 1 || !r.Query.Options.CaseSensitive {
		t.Errorf("the request is %+v", r)
	}
	searches.reason, searches.result.Stats.Matches = "match limit", 100_001
	w.browser.get("/search/groups?q=kettle&by=directory").expectPage(http.StatusOK, "More than 100,000 matches", "the first 100,000")
	searches.reason, searches.result.Stats.Matches = "display limit", 4
	w.browser.get("/search/groups?q=kettle&by=kind").expectPage(http.StatusOK, "no matches to group")
	w.browser.get("/search/groups?q=%28kettle&re=1").expectPage(http.StatusBadRequest, "Column")
	w.browser.get("/search/groups?q=context:closed+kettle").expectPage(http.StatusBadRequest, "There is no search context")
	w.browser.get("/search/groups").leadsTo("/")
	b = w.browser.get("/search?q=kettle").expectPage(http.StatusOK, "32 more", "All values")
	if shown, _, _ := strings.Cut(b.page, `class="facet-more"`); !strings.Contains(shown, "&lt;d7&gt;/") || strings.Contains(shown, "&lt;d8&gt;/") {
		t.Error("the first eight values are not those that are shown")
	}
}

// TestGroupsOfCaptures counts matches by the text of a group of the query's expression: those of
// other terms are left out, and a cut answer counts at least so many.
func TestGroupsOfCaptures(t *testing.T) {
	var searches *fakeSearches
	w := searchOf(t, 0, func(f *fakeSearches) {
		searches = f
		for i, text := range []string{"type pot_config, tea_config int\n", "type Pot_config int // pot_config\nvar kettle int\n"} {
			file := search.FileMatch{Repo: known[0], Path: fmt.Sprintf("%d.go", i)}
			chunk := search.Chunk{Content: []byte(text), Start: search.Location{ByteOffset: 1000, LineNumber: 9, Column: 1}}
			for _, at := range regexp.MustCompile(`(?i)\w+_config|kettle`).FindAllStringIndex(text, -1) {
				chunk.Ranges = append(chunk.Ranges, search.Range{Start: search.Location{ByteOffset: 1000 + at[0]}, End: search.Location{ByteOffset: 1000 + at[1]}})
			}
			file.Chunks = []search.Chunk{chunk}
			f.files = append(f.files, file)
		}
		f.result.Stats = search.Stats{Matches: 5, Files: 2, Displayed: 5}
	})
	const address = "/search/groups?q=regex%3A%28%5Cw%2B%29_%28conf%29ig+or+kettle&by=%242"
	rows := func(b *browser) string {
		found := ""
		for _, row := range regexp.MustCompile(`<li><a href="([^"]*)"><bdi>([^<]*)</bdi></a><span class="count">([^<]*)</span><span class="files-of">([^<]*)<`).FindAllStringSubmatch(b.page, -1) {
			found += fmt.Sprintf("%s %s %s\n", row[2], row[3], row[4])
		}
		return found
	}
	b := w.browser.get(strings.Replace(address, "242", "241", 1)).expectPage(http.StatusOK, "Group $1", "Group $2")
	if got, want := rows(b), "pot 2 2 files\nPot 1 1 file\ntea 1 1 file\n"; got != want {
		t.Errorf("the rows are\n%swant\n%s", got, want)
	}
	if want := "q=" + url.QueryEscape("regex:tea_(conf)ig or kettle"); !strings.Contains(html.UnescapeString(b.page), want) {
		t.Errorf("no link with %s in\n%s", want, b.page)
	}
	if r := searches.request; r.Display != 10_000 || r.Facets {
		t.Errorf("the request is %+v", r)
	}
	searches.reason = "display limit"
	if got, want := rows(w.browser.get(address)), "conf ≥4 2 files\n"; got != want {
		t.Errorf("the rows of a cut answer are %q, want %q", got, want)
	}
	w.browser.get("/search/groups?q=regex%3A%28a%29&by=%243").expectPage(http.StatusOK, "no matches to group")
}

// TestContextsPage lists search contexts with the repositories that the visitor may see.
func TestContextsPage(t *testing.T) {
	w := searchOf(t, 1, nil)
	r, err := http.NewRequest(http.MethodGet, w.server.URL+"/search/contexts", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	w.browser.doRequest(r)
	b := w.browser.expectPage(http.StatusOK, "context:Opera", "context:open", "1 repository", "example.com/open")
	if strings.Contains(b.page, "closed") || !strings.Contains(b.page, `href="/search?q=context%3Aopen&#43;type%3Arepo"`) {
		t.Errorf("the page is\n%s", b.page)
	}
	w.browser.get("/").expectPage(http.StatusOK, "context:open", "Recent searches")
}
