package web_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// countedStatus counts the statuses that pages read; every second one cannot be read.
type countedStatus struct {
	http.Handler
	reads atomic.Int64
}

func (c *countedStatus) Status(context.Context, code.RepositoryID) (indexing.Status, error) {
	if c.reads.Add(1)%2 == 0 {
		return indexing.Status{}, errors.New("the log does not answer")
	}
	return indexing.Status{State: indexing.Registered}, nil
}

// TestHomeReadsFewStatuses checks that the home page does not read the status of each of many
// repositories that are being imported.
func TestHomeReadsFewStatuses(t *testing.T) {
	status := &countedStatus{Handler: http.NotFoundHandler()}
	w := newAPIWorld(t, status, &fakeSearches{importing: 500}, nil)
	w.browser.get("/").expectPage(http.StatusOK, "Being imported", known[0].Name, "496 repositories are registered")
	if n := status.reads.Load(); n > 8 {
		t.Errorf("one page reads the status of %d repositories", n)
	}
}

// working is a process that indexes: it returns what it does on repositories.
type working struct {
	http.Handler
	states map[code.RepositoryID]indexing.Status
}

func (w *working) Work(id code.RepositoryID) (indexing.Status, bool) { return w.states[id], true }

// TestHomeShowsImports checks that the home page shows what is being imported before what failed or
// waits, whatever the names are, and that it does not wait for an empty repository.
func TestHomeShowsImports(t *testing.T) {
	process := &working{http.NotFoundHandler(), map[code.RepositoryID]indexing.Status{
		100: {Empty: true}, 117: {LastError: &indexing.Failure{}}, 118: {Progress: &indexing.Progress{Files: 1, FilesTotal: 2}},
	}}
	b := newAPIWorld(t, process, &fakeSearches{importing: 20}, nil).browser.get("/").expectPage(http.StatusOK, "example.com/118", "50 %", "failed", "19 repositories are registered")
	_, list, _ := strings.Cut(b.page, "Being imported")
	list, _, _ = strings.Cut(list, "</ul>")
	running, failed, waiting := strings.Index(list, "example.com/118"), strings.Index(list, "example.com/117"), strings.Index(list, "example.com/101")
	if running < 0 || failed < running || waiting < failed || strings.Contains(list, "example.com/100<") || strings.Count(list, "<li>") != 8 {
		t.Errorf("the imports are %s", list)
	}
}

// TestHomeChanges checks that an open home page asks for little, without the search of its examples
// once it has them.
func TestHomeChanges(t *testing.T) {
	w := searchOf(t, 0, func(f *fakeSearches) {
		f.result.Facets = []search.Facet{{Name: search.FacetLanguage, Values: []search.FacetValue{{Value: "Go", Filter: "lang:Go"}}}}
	})
	if b := w.browser.get("/"); !strings.Contains(b.page, `<a data-from hidden href="/?fragment=1">`) || !strings.Contains(b.page, "TODO lang:Go") {
		t.Errorf("the page is\n%s", b.page)
	}
	w.searches.request = search.Request{}
	b := w.browser.get("/?fragment=1")
	if strings.Contains(b.page, "<html") || strings.Contains(b.page, "examples") || !strings.Contains(b.page, "1 repository to search") || !strings.Contains(b.page, "Recently changed") {
		t.Errorf("the changes are\n%s", b.page)
	}
	if w.searches.request.Query != nil {
		t.Error("the changes cost a search")
	}
	if b := w.browser.get("/?fragment=1&examples=1"); !strings.Contains(b.page, "TODO lang:Go") {
		t.Errorf("a page without examples gets\n%s", b.page)
	}
}
