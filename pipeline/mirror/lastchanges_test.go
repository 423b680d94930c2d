package mirror_test

import (
	"testing"

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
		{"four", "", map[string]string{"": "four", "src": "four", coffee: "three", feed: "one", "blob.bin": "four", "empty.txt": "one", "--output=x": "one", "*": "one", "vendor": "four"}},
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
		found, err := m.LastChanges(t.Context(), commits[c.commit], c.path, names)
		if err != nil || len(found) != len(c.want) {
			t.Errorf("%s %q: %d commits, want %d: %v", c.commit, c.path, len(found), len(c.want), err)
		}
		for name, want := range c.want {
			if found[name].ID != commits[want] || found[name].Subject == "" || found[name].AuthorName == "" {
				t.Errorf("%s %q: %q is of %+v, want %s", c.commit, c.path, name, found[name], want)
			}
		}
	}
	if found, err := m.LastChanges(t.Context(), commits["four"], "", []string{"nothing", "run.sh"}); err != nil || found["run.sh"].ID != commits["four"] || len(found) != 2 {
		t.Errorf("a name without commits: %+v, %v", found, err)
	}
}
