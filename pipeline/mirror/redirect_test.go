package mirror_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestRedirectIsNamed does not follow a redirect, and names its address without what may
// be a secret.
func TestRedirectIsNamed(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	for _, tc := range []struct {
		status         int
		location, want string
	}{
		{301, other.URL + "/new/name.git/info/refs?service=git-upload-pack&token=s3cret", "redirects to " + other.URL + "/new/name.git, and"},
		{302, "/sign-in?next=s3cret", "/sign-in, and"},
		{307, "https://user:s3cret@other.example/x.git/info/refs", "redirects to https://other.example/x.git, and"},
		{308, other.URL + "/name.git/info/refs", "redirects to " + other.URL + "/name.git, and"},
		{301, "", "redirects are not followed"},
	} {
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if tc.location != "" {
				w.Header().Set("Location", tc.location)
			}
			w.WriteHeader(tc.status)
		}))
		_, err := open(t, mirror.Options{}).Mirror(1).Fetch(t.Context(), code.Repository{ID: 1, Name: "r", CloneURL: host.URL + "/old.git"})
		host.Close()
		if !errors.Is(err, mirror.ErrRefused) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%d to %q: %v, want %v that contains %q and no secret", tc.status, tc.location, err, mirror.ErrRefused, tc.want)
		}
	}
	moved := false
	repo := gittest.New(t)
	repo.CommitFiles("a", "one\n")
	git := gittest.HTTPHandler(t, filepath.Dir(repo.Dir))
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if moved {
			http.Redirect(w, r, other.URL+"/new.git/info/refs", http.StatusMovedPermanently)
			return
		}
		git.ServeHTTP(w, r)
	}))
	defer host.Close()
	m, r := open(t, mirror.Options{}).Mirror(1), code.Repository{ID: 1, Name: "r", CloneURL: host.URL + "/repository"}
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	moved = true
	if _, err := m.FetchRefs(t.Context(), r, "refs/heads/main"); !errors.Is(err, mirror.ErrRefused) || !strings.Contains(err.Error(), other.URL+"/new.git") {
		t.Errorf("pushed ref: %v, want %v and the new address", err, mirror.ErrRefused)
	}
	if reached {
		t.Error("a redirect was followed")
	}
}

// TestMovedRepository tells a redirect to another repository of the same host, which says
// that the repository was renamed, from other redirects.
func TestMovedRepository(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	location := ""
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusMovedPermanently)
	}))
	defer host.Close()
	for to, want := range map[string]string{
		"/new/name.git/info/refs?service=git-upload-pack": host.URL + "/new/name.git",
		host.URL + "/new.git/info/refs":                   host.URL + "/new.git",
		"/sign-in":                                        "",
		"/old.git/info/refs":                              "", // the same address
		other.URL + "/new.git/info/refs":                  "",
		"https" + strings.TrimPrefix(host.URL, "http") + "/new.git/info/refs": "",
	} {
		location = to
		_, err := open(t, mirror.Options{}).Mirror(1).List(t.Context(), code.Repository{ID: 1, Name: "r", CloneURL: host.URL + "/old.git"})
		moved, _ := errors.AsType[*mirror.MovedError](err)
		if !errors.Is(err, mirror.ErrRefused) || (moved != nil) != (want != "") || moved != nil && moved.CloneURL != want {
			t.Errorf("redirect to %s: %v, %+v, want a move to %q", to, err, moved, want)
		}
	}
}
