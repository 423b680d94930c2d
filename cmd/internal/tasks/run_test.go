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
