package web_test

import (
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
)

// orderOf returns the files of a page in their order.
func orderOf(page string) string {
	var names []string
	for _, m := range regexp.MustCompile(`data-path="src/(kettle\d)\.go"`).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return strings.Join(names, " ")
}

// TestFirstScreenIsRanked checks that files are shown in the order of their rank, whatever
// the order in which a search sends them, and that a link always shows the same order.
func TestFirstScreenIsRanked(t *testing.T) {
	w := searchOf(t, 6, func(f *fakeSearches) {
		for i, score := range []float64{2, 1, 3, 2, 2, 0} {
			f.files[i].Score = score
		}
	})
	for load := range 8 {
		for _, link := range []string{"/search?q=kettle&sort=rank", "/search?q=kettle&sort=rank&fragment=1"} {
			page := w.browser.get(link).page
			if have, want := orderOf(page), "kettle2 kettle0 kettle3 kettle4 kettle1 kettle5"; have != want {
				t.Errorf("load %d of %s: %s, want %s", load, link, have, want)
			}
		}
		if have, want := orderOf(w.browser.get("/search?q=kettle&sort=rank&files=3").page), "kettle2 kettle0 kettle3"; have != want {
			t.Errorf("load %d of the best three: %s, want %s", load, have, want)
		}
		rand.Shuffle(len(w.searches.files), func(i, j int) {
			w.searches.files[i], w.searches.files[j] = w.searches.files[j], w.searches.files[i]
		})
	}
	// What is above the files is sent before them, and is in its place.
	page := w.browser.get("/search?q=kettle&sort=rank").page
	for _, id := range []string{"status", "notices", "files", "facets", "ending"} {
		at := strings.Index(page, `id="`+id+`"`)
		if at < 0 {
			t.Fatalf("%s is missing, or is not after the parts above it:\n%s", id, page)
		}
		page = page[at:]
	}
}

// TestSortByRank checks a search that goes on: after a while the files found until then are
// sent, later ones follow as they come, and a link leads to the order of the rank.
func TestSortByRank(t *testing.T) {
	w := searchOf(t, 3, func(f *fakeSearches) {
		for i, score := range []float64{2, 1, 3} {
			f.files[i].Score = score
		}
	})
	stream := func() string {
		t.Helper()
		pause := make(chan struct{})
		w.searches.pause = pause
		isPaused := true
		response, err := http.Get(w.server.URL + "/search?q=kettle")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		page, b := "", make([]byte, 4096)
		for err == nil {
			var n int
			n, err = response.Body.Read(b)
			if page += string(b[:n]); strings.Contains(page, "kettle0.go") && isPaused {
				close(pause)
				isPaused = false
			}
		}
		w.searches.pause = nil
		return page
	}
	page := stream()
	if got := orderOf(page); got != "kettle0 kettle1 kettle2" {
		t.Errorf("files as they came: %s", got)
	}
	link := regexp.MustCompile(`href="(/search\?[^"]*sort=rank[^"]*)"`).FindStringSubmatch(page)
	if link == nil || !strings.Contains(page, "Sort by relevance") {
		t.Fatalf("no link to the order of the rank:\n%s", page)
	}
	page = w.browser.get(unescapeHTML(link[1])).expectPage(http.StatusOK).page
	if got := orderOf(page); got != "kettle2 kettle0 kettle1" || strings.Contains(page, "Sort by relevance") {
		t.Errorf("files by rank: %s", got)
	}
	w.searches.files[2].Score = 0
	if strings.Contains(stream(), "Sort by relevance") {
		t.Error("files in the order of their rank can be sorted")
	}
}

// TestCountsOfFiles checks the counts of files that show all of their matches, some of
// them, and as many as the search counts.
func TestCountsOfFiles(t *testing.T) {
	w := searchOf(t, 0, func(f *fakeSearches) {
		cut, more := newFile("src/kettle1.go", 9), newFile("src/kettle2.go", 8)
		cut.Matches, more.Matches, more.MoreMatches = 52, 1001, true
		f.files = []search.FileMatch{newFile("src/kettle0.go", 10), cut, more}
		f.result.Stats = search.Stats{Matches: 2000, Files: 30, Displayed: 27}
		f.reason = "display limit"
	})
	page := w.browser.get("/search?q=kettle&sort=rank").page
	for _, want := range []string{
		">10 matches", ">7 more matches in this file", ">52 matches", ">6 more matches in this file, of 49", ">at least 1,001 matches", ">at least 5 more matches in this file",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
}
