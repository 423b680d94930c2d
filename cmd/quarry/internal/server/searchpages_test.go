package server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestSearchPagesShowWhatTheAPIShows searches on pages in every role: a hidden repository
// appears in no result, count or facet, and not on the first page.
func TestSearchPagesShowWhatTheAPIShows(t *testing.T) {
	t.Parallel()
	hidden, public := writeSecret(t, "qzpriv"), writeSecret(t, "qzpub")
	w := newSeenWorld(t, map[string]*written{"qzpriv": hidden, "qzpub": public}, "qzpriv", "qzpub")
	pageAs := func(as, address string) *httptest.ResponseRecorder { return w.sendPageRequest(as, "", address) }
	var addresses []string
	for _, query := range []string{"sharedtext or common", "rev:* sharedtext or common", "type:file main", "type:repo host"} {
		for _, more := range []string{"", "&fragment=1", "&explain=1", "&view=files"} {
			addresses = append(addresses, "/search?q="+url.QueryEscape(query)+more)
		}
	}
	at := "&repo=" + url.QueryEscape(public.name) + "&path=shared.go&line=3"
	addresses = append(addresses, "/symbols?name=common", "/symbols?name=common"+at, "/symbols?name=common&fragment=1"+at, "/find?q=shared.go", "/find?q=%40common", "/find?q=team",
		"/search/groups?q=sharedtext+or+common")
	shown, kept := map[string]int{}, 0
	for _, role := range w.roles {
		api := w.sendRequest(role.name, "POST", "/api/search", `{"query":"sharedtext or common","matches":100}`)
		mayRead := w.sendRequest(role.name, "GET", fillTemplate("/api/source?repo={name}&path={path}")(&hidden.secret), "").Code != http.StatusNotFound
		for _, address := range addresses {
			page := pageAs(role.name, address)
			signIn := api.Code != http.StatusOK && page.Code == http.StatusSeeOther && strings.HasPrefix(page.Header().Get("Location"), "/sign-in?")
			if page.Code != api.Code && !signIn {
				t.Errorf("%s: %s: %d, of the API %d", role.name, address, page.Code, api.Code)
				continue
			}
			if page.Code != http.StatusOK {
				continue
			}
			if has := strings.Contains(page.Body.String(), "qzpriv"); has && !mayRead {
				t.Errorf("%s sees what is hidden: %s\n%s", role.name, address, page.Body)
			} else if has {
				shown[address]++
			} else {
				kept++
			}
		}
		home := pageAs(role.name, "/")
		if home.Code != http.StatusOK {
			t.Errorf("%s: the first page: %d, want %d: %s", role.name, home.Code, http.StatusOK, home.Body)
		}
		if list := w.sendRequest(role.name, "GET", "/api/repos?query=qzpriv", ""); strings.Contains(home.Body.String(), "qzpriv") && !strings.Contains(list.Body.String(), "qzpriv") {
			t.Errorf("%s sees a hidden repository on the first page", role.name)
		}
	}
	for _, address := range addresses {
		if shown[address] == 0 && !strings.Contains(address, "type%3A") {
			t.Errorf("%s shows the hidden repository to no role: nothing was compared", address)
		}
	}
	if kept == 0 {
		t.Error("every page shows the hidden repository: nothing was compared")
	}
}
