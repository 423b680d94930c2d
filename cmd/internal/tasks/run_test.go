package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
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
