package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// TestPicturesOnPages checks that the page of a repository shows its picture and
// description from the code host, that this server fetches the picture itself, and that
// it does so only from addresses that it may reach.
func TestPicturesOnPages(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "GIF89a of "+r.URL.Path) }))
	t.Cleanup(host.Close)
	pictured, plain := newGitRepository(t, "pictured"), newGitRepository(t, "plain")
	twin := newGitRepository(t, "twin")
	twin.ImageURL = host.URL + "/picture"
	pictured.ImageURL, pictured.Description = host.URL+"/picture", "A <b>kettle</b> of \u202etin"
	for networks, wants := range map[string]int{"127.0.0.0/8": http.StatusOK, "10.0.0.0/8": http.StatusNotFound} {
		s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(pictured.dir)+","+filepath.Dir(plain.dir)+","+filepath.Dir(twin.dir), "git.allowedNetworks="+networks))
		for _, g := range []*gitRepository{pictured, plain, twin} {
			s.registerAt(t, g, g.commitFiles("a.go", "package a\n"))
		}
		image := fmt.Sprintf("/api/repos/%d/image", s.accounts.Numbers.OfRepository(pictured.ID))
		page := strings.TrimSuffix(strings.TrimPrefix(image, "/api"), "/image")
		status, _, text := askedAs(t, http.MethodGet, s.URL()+page, "")
		if status != http.StatusOK || !strings.Contains(text, `src="`+image+`" alt=""`) {
			t.Errorf("%s: status %d without the picture:\n%s", page, status, text)
		}
		if !strings.Contains(text, "A &lt;b&gt;kettle&lt;/b&gt; of <span class=u data-u=U+202E>") {
			t.Errorf("%s shows the description of the host as it is, or not at all:\n%s", page, text)
		}
		if status, header, body := askedAs(t, http.MethodGet, s.URL()+image, ""); status != wants || wants == http.StatusOK && (header.Get("Content-Type") != "image/gif" || body != "GIF89a of /picture") {
			t.Errorf("%s with git.allowedNetworks %s: %d %s %.200s", image, networks, status, header.Get("Content-Type"), body)
		}
		if _, _, text := askedAs(t, http.MethodGet, s.URL()+"/repos", ""); strings.Count(text, `<span class="picture">`) != 3 || strings.Count(text, "<img") != 2 ||
			strings.Count(text, `<span class="picture"><img src="`+image+`" alt="" loading="lazy" decoding="async"></span>`) != 2 {
			t.Errorf("want one address of the picture that two of three repositories have, and space for each:\n%s", text)
		}
		page = fmt.Sprintf("/repos/%d", s.accounts.Numbers.OfRepository(plain.ID))
		if _, _, text := askedAs(t, http.MethodGet, s.URL()+page, ""); strings.Contains(text, "<img") {
			t.Errorf("%s has a picture that the host has not", page)
		}
	}
}
