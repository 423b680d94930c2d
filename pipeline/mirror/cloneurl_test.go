package mirror_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestSpellingsOfCloneURLs fetches through clone URLs that git itself would not take, as
// hosts and people write them.
func TestSpellingsOfCloneURLs(t *testing.T) {
	whole := gittest.New(t)
	commit := whole.CommitFiles("a", "one\n")
	dir := t.TempDir()
	whole.Git("clone", "--quiet", "--bare", whole.Dir, filepath.Join(dir, "a b c.git"))
	whole.Git("clone", "--quiet", whole.Dir, filepath.Join(dir, "full"))
	address := serveGit(t, dir)
	for _, url := range []string{
		strings.Replace(address, "http://", "HTTP://", 1) + "/a%20b%20c.git", address + "/a%20b c.git", address + "/a b c.git", address + "/full/.git",
	} {
		t.Run(url, func(t *testing.T) {
			s, err := open(t, mirror.Options{}).Mirror(1).Fetch(t.Context(), code.Repository{ID: 1, Name: "r", CloneURL: url})
			if err != nil || len(s.Revisions) != 1 || s.Revisions[0].Commit != commit {
				t.Errorf("fetch %s: %v, %v; want main at %s", url, s.Revisions, err, commit)
			}
		})
	}
}
