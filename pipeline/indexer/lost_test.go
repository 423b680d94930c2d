package indexer

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/mirror"
)

// loseMirrors takes everything away that this process has beside the log.
func (b *bench) loseMirrors() {
	b.t.Helper()
	if err := os.RemoveAll(filepath.Join(b.dir, "mirrors")); err != nil {
		b.t.Fatal(err)
	}
	var err error
	b.mirrors, err = mirror.Open(b.t.Context(), mirror.Options{
		Dir: filepath.Join(b.dir, "mirrors"), Policy: mirror.Policy{Schemes: []string{"file"}, Roots: []string{b.repo.Dir}}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = b.mirrors.Close() })
	b.x.o.Mirrors = b.mirrors
}

// withTwoBranches has dev1 and dev2 indexed beside main, and then deletes them.
func withTwoBranches(t *testing.T) *bench {
	b := newBench(t, "dev*")
	b.repo.CommitFiles("a", "1\n")
	b.register()
	for _, branch := range []string{"dev1", "dev2"} {
		b.repo.Git("checkout", "--quiet", "-b", branch)
		b.repo.CommitFiles(branch, "2\n")
		b.push(branch)
	}
	b.check("main", "dev1", "dev2")
	b.repo.Git("checkout", "--quiet", "main")
	b.repo.Git("branch", "-D", "dev1", "dev2")
	return b
}

// Found by the chaos suite: a branch that was deleted while the mirror was lost
// stayed searchable for ever.
func TestBranchDeletedWhileTheMirrorIsLost(t *testing.T) {
	b := withTwoBranches(t)
	b.loseMirrors()
	b.push("dev1")
	b.check("main")
}

// The same where the mirror is there but another worker had the partition, whose
// commits it could not follow.
func TestBranchDeletedThatTheMirrorNeverHad(t *testing.T) {
	b := withTwoBranches(t)
	m := b.mirrors.Mirror(b.code.ID)
	if err := m.SetIndexed(t.Context(), "refs/heads/dev1", "", ""); err != nil {
		t.Fatal(err)
	}
	b.push("dev1")
	b.push("dev2")
	b.check("main")
	b.push("dev1")
	if b.last != nil {
		t.Errorf("the same push again says %+v", b.last)
	}
}
