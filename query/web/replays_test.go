package web_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
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

// listedReplays answers with a list of replays.
type listedReplays string

// ServeHTTP implements http.Handler.
func (l listedReplays) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, string(l))
}

// TestReplayOfNodesIsCanceled shows the button that cancels a replay of a front as long as the front or
// one of its replicas builds.
func TestReplayOfNodesIsCanceled(t *testing.T) {
	for _, x := range []struct {
		own, node string
		want      int
	}{{"building", "building", 1}, {"done", "building", 1}, {"done", "done", 0}, {"canceled", "failed", 0}} {
		list := listedReplays(`{"current":{"name":"a","missingDocuments":0,"diskBytes":1},"projections":[],"replays":[{"id":7,"state":"` + x.own +
			`","records":1,"recordsTotal":2,"begunAt":"2024-01-01T00:00:00Z"}],"nodes":[{"share":"0/1","address":"10.0.0.1:7080","id":3,"state":"` + x.node + `"}]}`)
		w := newAPIWorld(t, list, nil, nil)
		w.setUp()
		page := w.browser.get("/admin/replays")
		if got := strings.Count(page.page, `value="cancel"`); got != x.want || got > 0 && !strings.Contains(page.page, `name="replay" value="7"`) {
			t.Errorf("the front has %s and a replica %s: %d buttons, want %d", x.own, x.node, got, x.want)
		}
	}
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
