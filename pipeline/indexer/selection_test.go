package indexer

import (
	"fmt"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// pushRef pushes a ref that may be a tag.
func (b *bench) pushRef(ref code.Ref) {
	b.t.Helper()
	b.must(&event.Push{Repository: b.code.ID, Ref: ref, Action: event.ActionUpdated, ReceivedAt: time.Unix(2, 0)})
}

// checkRefs checks that the indexed refs are want, at the commits of the repository.
func (b *bench) checkRefs(want ...code.Ref) {
	b.t.Helper()
	if len(b.refs) != len(want) {
		b.t.Errorf("%d refs are indexed, want %q", len(b.refs), want)
	}
	for _, ref := range want {
		if is := b.repo.Git("rev-parse", string(ref)+"^{commit}"); b.refs[ref] == nil || string(b.commits[ref]) != is {
			b.t.Errorf("%s is indexed at %q, want %s", ref, b.commits[ref], is)
		}
	}
}

// TestTagsAreIndexedAsBranchesAre imports, pushes, moves and deletes tags.
func TestTagsAreIndexedAsBranchesAre(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.code.Tags = []string{"v*"}
	b.repo.CommitFiles("a.go", largeText(0))
	b.repo.Git("tag", "-a", "-m", "first", "v1")
	b.repo.Git("tag", "nightly")
	b.repo.Git("tag", "v-tree", "main^{tree}")
	b.repo.CommitFiles("b.go", largeText(1))
	c := b.measureCosts(b.registerRepository)
	b.checkRefs("refs/heads/main", "refs/tags/v1")
	if c.documents != 2 {
		t.Errorf("%d documents, want 2", c.documents)
	}
	b.repo.Git("tag", "-a", "-m", "second", "v2")
	b.repo.Git("tag", "-a", "-m", "a tag of a tag", "v3", "v2")
	c = b.measureCosts(func() { b.pushRef("refs/tags/v2"); b.pushRef("refs/tags/v3") })
	b.checkRefs("refs/heads/main", "refs/tags/v1", "refs/tags/v2", "refs/tags/v3")
	if c.documents != 0 {
		t.Errorf("%d documents, want none: the default branch has them", c.documents)
	}
	for ref, want := range map[code.Ref]string{"refs/tags/nightly": "0 unselected", "refs/tags/v-tree": "0 absent", "refs/tags/gone": "0 unselected", "refs/tags/v2": "0 unchanged"} {
		from := b.read
		b.pushRef(ref)
		if got := b.loggedSince(from); got != want {
			t.Errorf("a push of %s: %s, want %s", ref, got, want)
		}
	}
	b.repo.Git("tag", "-f", "-a", "-m", "moved", "v1")
	b.repo.Git("tag", "-d", "v2")
	b.pushRef("refs/tags/v1")
	b.pushRef("refs/tags/v2")
	b.checkRefs("refs/heads/main", "refs/tags/v1", "refs/tags/v3")
	// A scan of all refs finds changes that no webhook announced.
	b.repo.Git("tag", "-d", "v3")
	b.repo.Git("tag", "v4", "main~1")
	b.must(b.pushOf("", 3))
	b.checkRefs("refs/heads/main", "refs/tags/v1", "refs/tags/v4")
	// Without the globs, the tags are removed.
	b.code.Tags = nil
	b.must(&event.RepositoryChanged{Repository: b.code, At: time.Unix(4, 0)})
	b.checkRefs("refs/heads/main")
}

// TestRefsBeyondTheLimit imports and pushes more refs than are indexed.
func TestRefsBeyondTheLimit(t *testing.T) {
	b := newBench(t, "**")
	b.mirrors = openMirrors(t, b, mirror.Options{MaxRefs: 3})
	b.x.o.Mirrors = b.mirrors
	b.repo.CommitFiles("a.go", largeText(0))
	day := 0
	newest := func(name string) {
		day++
		branchAt(b.repo, name, "main")
		t.Setenv("GIT_COMMITTER_DATE", fmt.Sprintf("2026-01-%02dT00:00:00Z", day))
		b.repo.CommitFiles(name+".go", largeText(day))
		b.repo.Git("checkout", "--quiet", "main")
	}
	for _, name := range []string{"b4", "b3", "b2", "b1"} {
		newest(name)
	}
	b.registerRepository()
	b.checkRefs("refs/heads/main", "refs/heads/b2", "refs/heads/b1")
	s, ok := b.mirrors.Mirror(b.code.ID).Selection()
	if want := "5 of 5 branches; 2 are left out: at most 3 are indexed, those with the newest commits (pipeline.maxRefs)"; !ok || s.String() != want {
		t.Errorf("selection %q, want %q", s, want)
	}
	// A new branch replaces the one with the oldest commit.
	newest("b0")
	b.push("b0")
	b.checkRefs("refs/heads/main", "refs/heads/b0", "refs/heads/b1")
	// A branch older than all indexed ones stays out.
	from := b.read
	b.push("b4")
	if got := b.loggedSince(from); got != "0 unselected" {
		t.Errorf("a push of a ref that is left out: %s, want \"0 unselected\"", got)
	}
	b.checkRefs("refs/heads/main", "refs/heads/b0", "refs/heads/b1")
	// A push of an indexed branch fetches no other.
	newest("b1")
	b.push("b1")
	b.checkRefs("refs/heads/main", "refs/heads/b0", "refs/heads/b1")
	b.repo.Git("branch", "--quiet", "-D", "b0")
	b.push("b0")
	b.must(b.pushOf("", 3))
	b.checkRefs("refs/heads/main", "refs/heads/b1", "refs/heads/b2")
}

// openMirrors opens mirrors with other options for a bench.
func openMirrors(t *testing.T, b *bench, o mirror.Options) *mirror.Mirrors {
	t.Helper()
	o.Dir, o.Policy = b.t.TempDir(), b.policy
	mirrors, err := mirror.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mirrors.Close() })
	return mirrors
}
