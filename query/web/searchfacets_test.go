package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
)

// TestSearchWithinARepository adds the filter of the switch that pages of a repository have.
func TestSearchWithinARepository(t *testing.T) {
	w := searchOf(t, 1, nil)
	for asked, query := range map[string]string{
		"?q=kettle&in=example.com/open":           `kettle repo:^example\.com/open$`,
		"?q=kettle+or+boil&case=1&in=a":           `(kettle or boil) repo:^a$`,
		"?q=kettle&in=" + url.QueryEscape(`a "b`): `kettle repo:"^a \"b$"`,
		"?q=kettle&in=%00":                        "kettle",
	} {
		b := w.browser.get("/search" + asked)
		to, err := url.Parse(b.header.Get("Location"))
		if err != nil || b.status != http.StatusSeeOther || strings.TrimSpace(to.Query().Get("q")) != query || to.Query().Has("in") {
			t.Errorf("%s: %d, leads to %q, want %q", asked, b.status, to, query)
		}
	}
	b := w.browser.get("/search?q=foo+%28bar&re=1&in=a").expectPage(http.StatusBadRequest, "Column")
	if !strings.Contains(b.page, `name="in" value="a" checked`) {
		t.Error("a refused query loses the switch")
	}
}

// TestFacetsEditTheQuery follows the links of facets.
func TestFacetsEditTheQuery(t *testing.T) {
	w := searchOf(t, 1, func(f *fakeSearches) {
		f.result.Facets = []search.Facet{
			{Name: search.FacetLanguage, Complete: true, Values: []search.FacetValue{
				{Value: "Go", Filter: "lang:Go", Matches: 1204, Files: 3}, {Value: "C", Filter: "lang:C", Matches: 1, Files: 1},
			}},
			{Name: search.FacetDirectory, Values: []search.FacetValue{{Value: "s\u202er/", Filter: "file:^s", Matches: 2, Files: 1}}},
			{Name: search.FacetTrait, Values: []search.FacetValue{{Value: "test", Filter: "is:test", Matches: 7, Files: 1}}},
		}
	})
	for query, want := range map[string][]string{
		"kettle":         {"kettle lang:Go", "kettle -lang:Go", "kettle is:test", "kettle -is:test"},
		"kettle or boil": {"(kettle or boil) lang:Go", "(kettle or boil) -lang:Go"},
		"kettle lang:Go": {"kettle", "kettle lang:Go lang:C"},
	} {
		page := w.browser.get("/search?q=" + url.QueryEscape(query)).page
		for _, q := range want {
			if link := `href="` + strings.ReplaceAll("/search?q="+url.QueryEscape(q), "+", "&#43;") + `"`; !strings.Contains(page, link) {
				t.Errorf("%s: no link %s", query, link)
			}
		}
		if !strings.Contains(page, `<bdi>s<span class=u data-u=U+202E>`) {
			t.Errorf("%s: a hidden character in a value is not shown:\n%s", query, page)
		}
		if !strings.Contains(page, ">1,204<") || !strings.Contains(page, ">≥7<") {
			t.Errorf("%s: the counts are missing", query)
		}
	}
}

// TestLabelsOfLines checks that the label of a line contains the number that its link shows.
func TestLabelsOfLines(t *testing.T) {
	w := searchOf(t, 0, func(f *fakeSearches) { f.files = []search.FileMatch{newFile("long.go", 102)} })
	if page := w.browser.get("/search?q=kettle").page; !strings.Contains(page, `aria-label="Line 1011">1011</a>`) {
		t.Error("the label of line 1011 differs from its number")
	}
}
