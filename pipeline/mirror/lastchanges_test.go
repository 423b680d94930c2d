package mirror_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestLastChanges finds the commits that changed the entries of directories, whatever their
// names, and those that changed files.
func TestLastChanges(t *testing.T) {
	repo, commits := oddHistory(t)
	r := repo.Code("r")
	m := open(t, mirror.Options{}).Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	coffee, feed := code.SpellPath("caf\xe9.txt"), code.SpellPath("line\nfeed \"x\".txt")
	for _, c := range []struct {
		commit, path string
		want         map[string]string
	}{
		{"four", "", map[string]string{
			"": "four", "src": "four", coffee: "three", feed: "one", "blob.bin": "four", "empty.txt": "one", "--output=x": "one", "*": "one", "vendor": "four",
		}},
		{"three", "", map[string]string{"": "three", "src": "three", "blob.bin": "one"}},
		{"four", "src", map[string]string{"": "four", "new.txt": "three", ":(top)": "one"}},
		{"four", "empty.txt", map[string]string{"": "one"}},
		{"two", coffee, map[string]string{"": "one"}},
	} {
		names := []string{}
		for name := range c.want {
			if name != "" {
				names = append(names, name)
			}
		}
		found, _, err := m.LastChanges(t.Context(), commits[c.commit], c.path, names)
		if err != nil || len(found) != len(c.want) {
			t.Errorf("%s %q: %d commits, want %d: %v", c.commit, c.path, len(found), len(c.want), err)
		}
		for name, want := range c.want {
			if found[name].ID != commits[want] || found[name].Subject == "" || found[name].AuthorName == "" {
				t.Errorf("%s %q: %q is of %+v, want %s", c.commit, c.path, name, found[name], want)
			}
		}
	}
	found, isCut, err := m.LastChanges(t.Context(), commits["four"], "", []string{"nothing", "run.sh"})
	if err != nil || isCut || found["run.sh"].ID != commits["four"] || len(found) != 2 {
		t.Errorf("a name without commits: %+v, cut %t, %v", found, isCut, err)
	}
}

// TestLastChangeOfLongSubject finds a commit whose subject git writes in many parts.
func TestLastChangeOfLongSubject(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a.txt", "one")
	subject := filepath.Join(t.TempDir(), "subject")
	if err := os.WriteFile(subject, []byte(strings.Repeat("long ", 1<<19)), 0o600); err != nil {
		t.Fatal(err)
	}
	repo.Write("a.txt", "two")
	repo.Git("commit", "--quiet", "--all", "--file", subject)
	r := repo.Code("r")
	m := open(t, mirror.Options{}).Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	commit := code.CommitID(repo.Git("rev-parse", "HEAD"))
	if found, isCut, err := m.LastChanges(t.Context(), commit, "a.txt", nil); err != nil || isCut || found[""].ID != commit {
		t.Errorf("found %.60q, cut %t, %v", found[""].Subject, isCut, err)
	}
}
