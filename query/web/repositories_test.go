package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// listedAPI is an API with three repositories: the update of the second one failed, and
// the status of the third one cannot be read.
type listedAPI struct{}

// ServeHTTP implements http.Handler.
func (listedAPI) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Total-Count", "3")
	_, _ = io.WriteString(w, `[{"repoId":1,"repoName":"team/good"},{"repoId":2,"repoName":"team/broken"},{"repoId":3,"repoName":"team/unknown"}]`)
}

// Repositories implements web.Repositories. The IDs are not the numbers of the API.
func (listedAPI) Repositories(context.Context) (all []*corpus.Repository, err error) {
	for id, name := range map[code.RepositoryID]string{1001: "team/good", 1002: "team/broken", 1003: "team/unknown", 2: "team/hidden"} {
		all = append(all, &corpus.Repository{Repository: code.Repository{ID: id, Name: name}})
	}
	return all, nil
}

// Status implements web.Status.
func (listedAPI) Status(_ context.Context, id code.RepositoryID) (indexing.Status, error) {
	switch id {
	case 1001:
		return indexing.Status{Progress: &indexing.Progress{Files: 3, FilesTotal: 4}}, nil
	case 1002:
		return indexing.Status{LastError: &indexing.Failure{}}, nil
	}
	return indexing.Status{}, errors.New("the index is closed")
}

// TestRepositoriesShowFailures checks that the list names the repositories whose last
// update failed.
func TestRepositoriesShowFailures(t *testing.T) {
	w := newAPIWorld(t, listedAPI{}, nil, nil)
	w.setUp()
	page := w.browser.get("/repos").expectPage(http.StatusOK, "team/good", "team/broken", "team/unknown").page
	const failed = `<span data-live="failed-2"> <a class="tag bad" href="/repos/2">failed</a></span>`
	if !strings.Contains(page, failed) || strings.Count(page, "tag bad") != 1 {
		t.Errorf("the list does not show that the update of team/broken alone failed:\n%s", page)
	}
	if strings.Count(page, "75 %") != 1 {
		t.Errorf("the list does not show how much of team/good is imported:\n%s", page)
	}
}

// pageAPI is the API of one repository in a state, and counts the statuses that its page reads besides.
type pageAPI struct {
	state string
	empty bool
	reads int
}

// ServeHTTP implements http.Handler.
func (p *pageAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/status"):
		_, _ = fmt.Fprintf(w, `{"repoId":1,"repoName":"team/good","state":%q,"refs":[]}`, p.state)
	case r.URL.Path == "/api/repos":
		listedAPI{}.ServeHTTP(w, r)
	default:
		w.WriteHeader(http.StatusServiceUnavailable) // the process has none
		_, _ = io.WriteString(w, `{"statusCode":503,"errorCode":"UNAVAILABLE","message":"none"}`)
	}
}

// Repositories implements web.Repositories.
func (*pageAPI) Repositories(ctx context.Context) ([]*corpus.Repository, error) {
	return listedAPI{}.Repositories(ctx)
}

// Status implements web.Status.
func (p *pageAPI) Status(context.Context, code.RepositoryID) (indexing.Status, error) {
	p.reads++
	return indexing.Status{Empty: p.empty}, nil
}

// TestRepositoryPageReadsOneStatus checks that the page of an indexed repository reads its status once,
// through the API, and that of one without an index shows whether it is empty.
func TestRepositoryPageReadsOneStatus(t *testing.T) {
	for _, c := range []struct {
		api   pageAPI
		badge string
		reads int
	}{
		{pageAPI{state: "indexed"}, ">up to date<", 0}, {pageAPI{state: "failed"}, ">failed<", 0}, {pageAPI{state: "registered", empty: true}, ">empty<", 1},
	} {
		w := newAPIWorld(t, &c.api, nil, nil)
		w.setUp()
		if page := w.browser.get("/repos/1").page; !strings.Contains(page, c.badge) || c.api.reads != c.reads {
			t.Errorf("%s: read %d statuses besides, want %d, and %s:\n%s", c.api.state, c.api.reads, c.reads, c.badge, page)
		}
	}
}
