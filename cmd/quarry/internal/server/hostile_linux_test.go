package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TestHostileRepositoriesGetNothingOut registers repositories whose files lead out of the
// allowed root or are FIFOs, together with a valid one. The valid one is searchable and
// the others fail. Neither the operator's token nor the text of a repository outside the
// root appears in a response to an anonymous caller, the log, the metrics or a file of
// the data directory.
func TestHostileRepositoriesGetNothingOut(t *testing.T) {
	t.Parallel()
	const canary = "canary_9c41f7"
	root := t.TempDir()
	c := testConfig(t, "git.allowedRoots="+root, "pipeline.reconcileInterval=0")
	foreign := newGitRepository(t, "foreign")
	hidden := foreign.commitFiles("secret.txt", canary+"\n")
	token := filepath.Join(c.Data, "operator.token")

	plants := []struct {
		name  string
		plant func(git string) error
	}{
		{"shallow-link", func(git string) error { return os.Symlink(token, filepath.Join(git, "shallow")) }},
		{"pack-link", func(git string) error {
			objects := filepath.Join(git, "objects")
			if err := os.RemoveAll(objects); err != nil {
				return err
			}
			if err := os.Symlink(filepath.Join(foreign.dir, ".git", "objects"), objects); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(git, "refs", "heads", "main"), []byte(string(hidden)+"\n"), 0o644)
		}},
		{"fifo-1", func(git string) error { return unix.Mkfifo(filepath.Join(git, "shallow"), 0o644) }},
		{"fifo-2", func(git string) error { return unix.Mkfifo(filepath.Join(git, "packed-refs"), 0o644) }},
		{"fifo-3", func(git string) error {
			head := filepath.Join(git, "HEAD")
			if err := os.Remove(head); err != nil {
				return err
			}
			return unix.Mkfifo(head, 0o644)
		}},
	}
	var log logBuffer
	registry := prometheus.NewRegistry()
	s, err := Open(t.Context(), Options{Config: c, Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: registry, Gatherer: registry, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	stop := run(t, s)
	waitUntil(t, func() bool { return s.accounts.CheckReady() == nil })
	secret, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}

	for _, p := range plants {
		g := newGitRepositoryIn(t, root, p.name)
		g.commitFiles("a.txt", p.name+"\n")
		if err := p.plant(filepath.Join(g.dir, ".git")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.registrar.Register(t.Context(), g.Repository); err != nil {
			t.Fatal(err)
		}
	}
	good := newGitRepositoryIn(t, root, "good")
	s.registerAt(t, good, good.commitFiles("a.txt", "good\n")) // registered after all of them

	var answers strings.Builder
	for _, p := range plants {
		id := code.NewRepositoryID("test", p.name)
		var body string
		waitUntil(t, func() bool {
			body = askAnonymously(t, http.MethodGet, fmt.Sprintf("%s/api/repos/%d/status", s.URL(), id), "")
			var status struct{ LastError *json.RawMessage }
			return json.Unmarshal([]byte(body), &status) == nil && status.LastError != nil
		})
		answers.WriteString(body)
	}
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, "/api/repos", ""},
		{http.MethodPost, "/api/search", `{"query":"` + canary + `","matches":10}`},
		{http.MethodGet, "/api/source?repo=pack-link&path=secret.txt", ""},
		{http.MethodGet, "/api/source?repo=pack-link&path=secret.txt&ref=" + string(hidden), ""},
		{http.MethodGet, "/api/commits?repo=pack-link", ""},
	} {
		answers.WriteString(askAnonymously(t, request.method, s.URL()+request.path, request.body))
	}
	answers.WriteString(askAnonymously(t, http.MethodGet, s.MetricsURL()+"/metrics", ""))
	for _, p := range plants { // removal is not blocked either
		if _, err := s.registrar.Remove(t.Context(), code.NewRepositoryID("test", p.name), "test"); err != nil {
			t.Error(err)
		}
	}
	stop()
	for _, secret := range []string{canary + `\n`, canary + "\n", strings.TrimSpace(string(secret))} {
		if strings.Contains(answers.String(), secret) {
			t.Errorf("an answer holds %q:\n%s", secret, answers.String())
		}
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, log.String())
		}
		checkFilesWithout(t, c.Data, secret, token)
	}
}

// newGitRepositoryIn creates a repository below a directory.
func newGitRepositoryIn(t *testing.T, dir, name string) *gitRepository {
	t.Helper()
	g := newGitRepository(t, name)
	moved := filepath.Join(dir, name)
	if err := os.Rename(g.dir, moved); err != nil {
		t.Fatal(err)
	}
	g.dir, g.CloneURL = moved, moved
	return g
}

// askAnonymously returns the body of the response to a caller without a credential.
func askAnonymously(t *testing.T, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkFilesWithout checks that no file below a directory contains a text, except for one
// file.
func checkFilesWithout(t *testing.T, dir, text, except string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == except {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			t.Errorf("%s holds %q", path, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
