package web_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"
)

// replaysAPI records the changes that a page requests.
type replaysAPI struct{ changes []string }

// ServeHTTP implements http.Handler.
func (a *replaysAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		a.changes = append(a.changes, r.Method+" "+r.URL.Path)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id":7,"projection":"places","state":"canceled"}`)
}

// TestReplaysForms cancels a replay and rolls back, and sends forms that no page has.
func TestReplaysForms(t *testing.T) {
	api := &replaysAPI{}
	w := newAPIWorld(t, api, nil, nil)
	w.setUp()
	post := func(do, replay string) *browser {
		return w.browser.postForm("/admin/replays", url.Values{"do": {do}, "replay": {replay}, "csrf": {formTokenOf(w.browser.get("/settings/keys"))}})
	}
	post("cancel", "7").leadsTo("/admin/replays?done=replay-canceled")
	post("rollback", "").leadsTo("/admin/replays?done=rollback-started")
	post("cancel", "x").expectPage(http.StatusNotFound)
	post("stop", "7").expectPage(http.StatusNotFound)
	if want := []string{"DELETE /api/replays/7", "POST /api/replays/rollback"}; !slices.Equal(api.changes, want) {
		t.Errorf("the API got %q, want %q", api.changes, want)
	}
}
