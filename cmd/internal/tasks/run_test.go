package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/testserver"
)

func TestCommitTree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed, as the Makefile says")
	}
	tree, repository := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"a.go": "package a\n", ".gitignore": "*.s\n", "b.s": "RET\n"} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := commitTree(t.Context(), repository, tree, "all"); err != nil {
		t.Fatal(err)
	}
	got, err := runOutput(t.Context(), repository, "git", "ls-tree", "-r", "--name-only", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if want := ".gitignore\na.go\nb.s"; got != want {
		t.Errorf("committed\n%s\nwant\n%s", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(tree, ".git")); left != nil {
		t.Error("the tree was written to")
	}
}

func TestWaitReady(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	if err := waitReady(t.Context(), server.URL); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times, want 3", n)
	}
}

// TestServerOfThisTree tests the tasks that need a server, with one of this tree.
func TestServerOfThisTree(t *testing.T) {
	binary := testserver.Build(t)
	t.Run("index", func(t *testing.T) { testIndexSamples(t, binary) })
	t.Run("sample", func(t *testing.T) { testSample(t, binary) })
}

// testIndexSamples indexes a tree and a library on a running server, and searches both.
func testIndexSamples(t *testing.T, binary string) {
	dir := t.TempDir()
	tree, library := filepath.Join(dir, "tree"), filepath.Join(dir, "library")
	testserver.MakeRepository(t, tree)
	if err := os.Mkdir(library, 0o755); err != nil {
		t.Fatal(err)
	}
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "once.go"), []byte("package sync\n\ntype Once struct{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := commitTree(t.Context(), library, source, "library"); err != nil {
		t.Fatal(err)
	}
	server := testserver.Start(t, binary, dir)
	r := &runTask{Quarry: binary, Data: server.Data, Listen: strings.TrimPrefix(server.URL, "http://")}
	if err := r.indexSamples(t.Context(), tree, library); err != nil {
		t.Fatalf("index the samples: %v", err)
	}
	for query, want := range map[string]string{"repo:quarry func": "src/boil.go", "repo:go-std struct": "once.go"} {
		out, err := runOutput(t.Context(), dir, binary, "search", "--server", server.URL, "--data", server.Data, query)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("quarry search %q: %q, %v; want %s", query, out, err, want)
		}
	}
	if err := r.indexSamples(t.Context(), tree, filepath.Join(dir, "nowhere")); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("index a library that does not exist: error %v, want one that names it", err)
	}
}

// TestServerEnded checks that only an interrupt is a normal end of a run.
func TestServerEnded(t *testing.T) {
	failure := errors.New("exit status 1")
	if err := serverEnded(t.Context(), failure); !errors.Is(err, failure) {
		t.Errorf("a server that failed: error %v, want its own", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serverEnded(ctx, failure); err != nil {
		t.Errorf("a server that was interrupted: error %v, want none", err)
	}
}

// TestWaitReadyEnds waits for a server that never answers, until the context ends.
func TestWaitReadyEnds(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := waitReady(ctx, server.URL); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), server.URL) {
		t.Errorf("wait for a server that is gone: error %v, want one that names it", err)
	}
	if answersOK(t.Context(), server.URL) || answersOK(t.Context(), ":") {
		t.Error("a server that is gone, or an address that is none, answers 200")
	}
}

// TestNextSteps checks that a path that the closing text suggests is one that the server may
// read.
func TestNextSteps(t *testing.T) {
	for _, c := range []struct{ gitRoot, want string }{
		{"", "index https://"}, {"", "only below /checkout. For others, stop it, and run make run GIT_ROOT=DIRECTORY"},
		{"/srv/git", "index /srv/git/REPOSITORY"}, {"/srv/git", "only below /checkout and /srv/git."},
	} {
		var out strings.Builder
		(&runTask{Quarry: "bin/quarry", Listen: "127.0.0.1:7070", GitRoot: c.gitRoot}).printNextSteps(&out, "/checkout")
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("with --git-root %q: %s\nwant %q", c.gitRoot, out.String(), c.want)
		}
	}
}

// TestRunTwice runs the task at an address at which a server already listens. It must start
// no server, and index nothing on the one that is there.
func TestRunTwice(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("request %s", r.URL) }))
	defer server.Close()
	err := (&runTask{Quarry: "nosuchbinary", Data: t.TempDir(), Listen: server.Listener.Addr().String()}).Run(t.Context())
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "earlier make run") {
		t.Errorf("run at an address in use: error %v, want one that says so", err)
	}
}

// TestMakeRun checks that the first run announces how long it takes, builds nothing that it
// does not need, and shows its progress.
func TestMakeRun(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("make is not installed")
	}
	recipe, err := runOutput(t.Context(), filepath.Join("..", "..", ".."), "make", "--no-print-directory", "-n", "run", "GIT_ROOT=/srv/git")
	if err != nil {
		t.Fatal(err)
	}
	announcement, build, found := strings.Cut(recipe, "go build -v ")
	if !found || !strings.Contains(announcement, "minutes") || !strings.Contains(announcement, "GB") {
		t.Errorf("no announcement with minutes and bytes before a build that shows its progress:\n%s", recipe)
	}
	if strings.Contains(build, "searchbench") || !strings.Contains(build, `run --git-root "/srv/git"`) {
		t.Errorf("make run builds searchbench, or does not pass GIT_ROOT on:\n%s", recipe)
	}
}
