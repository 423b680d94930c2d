package main

import (
	"context"
	"os"
	"strings"
	"testing"
)

// TestUnknownRef runs the tasks that check out another commit with one that does not
// exist. The error must name the commit, and no work tree may be left.
func TestUnknownRef(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.go", []byte("package a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := commitTree(t.Context(), ".", ".", "first"); err != nil {
		t.Fatal(err)
	}
	for name, task := range map[string]interface{ Run(context.Context) error }{
		"bench-compare":  &benchCompareTask{Ref: "nosuchref", Packages: "./...", Count: 1},
		"bench-engine":   &benchEngineTask{Ref: "nosuchref", Corpora: "corpora"},
		"upgrade-sample": &upgradeSampleTask{Ref: "nosuchref", Out: "sample.tar.gz", Repositories: "git", Listen: "127.0.0.1:0"},
	} {
		if err := task.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "nosuchref") {
			t.Errorf("%s with a commit that does not exist: error %v, want one that names it", name, err)
		}
		if trees, err := runOutput(t.Context(), ".", "git", "worktree", "list", "--porcelain"); err != nil || strings.Count(trees, "worktree ") != 1 {
			t.Errorf("%s leaves work trees: %v\n%s", name, err, trees)
		}
	}
	if err := (&releaseTask{Version: "v1", Out: "release"}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "v1.2.3") {
		t.Errorf("release v1: error %v, want one that says how versions are written", err)
	}
	if _, err := os.Stat("release"); err == nil {
		t.Error("a release that is refused has replaced its directory")
	}
}
