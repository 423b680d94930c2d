package mirror

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestFailingHosts fetches from hosts that answer, or do not, like a host with a wrong
// token, without a repository, or behind a sign-in page. Kinds of hosts without an API,
// whose repositories are not listed, fail here.
func TestFailingHosts(t *testing.T) {
	const token = "0123456789abcdef-token"
	ms, err := Open(t.Context(), Options{
		Dir: filepath.Join(t.TempDir(), "mirrors"), Policy: loopback,
		Access: func(context.Context, code.Repository) (Access, error) {
			return Access{Username: "git", Password: token}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	answer := func(status int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text)) // the client sees the truncated answer
		}
	}
	const page = "<!DOCTYPE html>\n<html><title>Sign in</title></html>\n"
	for i, c := range []struct {
		name   string
		answer http.HandlerFunc // nil: the host is down
		want   error
	}{
		{"a wrong token", answer(http.StatusUnauthorized, "text/plain", "no"), ErrUnauthorized},
		{"a missing scope", answer(http.StatusForbidden, "text/plain", "no"), ErrUnauthorized},
		{"an unknown repository", answer(http.StatusNotFound, "text/plain", "no"), ErrVanished},
		{"a host that fails", answer(http.StatusServiceUnavailable, "text/plain", "no"), ErrUnreachable},
		{"an empty answer", answer(http.StatusOK, "text/plain", ""), ErrUnreachable},
		{"a page on one line", answer(http.StatusOK, "text/html", strings.TrimSpace(strings.ReplaceAll(page, "\n", " "))), ErrUnreachable},
		{"a page in place of git", answer(http.StatusOK, "text/html", page), ErrGit},
		{"a page that says that it is git", answer(http.StatusOK, "application/x-git-upload-pack-advertisement", page), ErrGit},
		{"a host that is down", nil, ErrUnreachable},
	} {
		host := httptest.NewServer(c.answer)
		if c.answer == nil {
			host.Close()
		}
		r := code.Repository{ID: code.RepositoryID(i + 1), Kind: code.GenericGitHost, Name: "r", CloneURL: host.URL + "/o/r.git"}
		_, err := ms.Mirror(r.ID).Fetch(t.Context(), r)
		host.Close()
		if !errors.Is(err, c.want) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestAnswersThatRemoveNothing keeps the refs of a repository whose host answers with an
// empty page, and removes them once the host itself has none.
func TestAnswersThatRemoveNothing(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a", "1")
	git, broken := gittest.HTTPHandler(t, filepath.Dir(repo.Dir)), false
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !broken {
			git.ServeHTTP(w, r)
		}
	}))
	defer host.Close()
	ms, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "mirrors"), Policy: loopback})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	r := repo.Code("r")
	r.CloneURL = host.URL + "/" + filepath.Base(repo.Dir)
	fetch := func(step string, refs int, want error) {
		t.Helper()
		state, err := ms.Mirror(r.ID).Fetch(t.Context(), r)
		if !errors.Is(err, want) || err == nil && len(state.Revisions) != refs {
			t.Errorf("%s: %+v, %v; want %d refs, %v", step, state.Revisions, err, refs, want)
		}
		if have, err := ms.Mirror(r.ID).fetchedRefs(t.Context()); err != nil || len(have) != refs {
			t.Errorf("%s: the mirror has %v, %v; want %d refs", step, have, err, refs)
		}
	}
	fetch("first", 1, nil)
	broken = true
	fetch("an empty page", 1, ErrUnreachable)
	broken = false
	for ref := range strings.Lines(repo.Git("for-each-ref", "--format=%(refname)")) {
		repo.Git("update-ref", "-d", strings.TrimSpace(ref))
	}
	fetch("no refs", 0, nil)
}
