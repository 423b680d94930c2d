package indexer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// costs is the work that indexing took.
type costs struct {
	documents int   // added to segments
	readBytes int64 // blobs and directories
}

// measureCosts returns what f costs.
func (b *bench) measureCosts(f func()) costs {
	b.t.Helper()
	from, before := b.read, b.readBytes()
	f()
	c := costs{readBytes: b.readBytes() - before}
	b.scanLog(from, func(_ event.Record, ev event.Event) {
		if ev, ok := ev.(*event.RevisionIndexed); ok && ev.Repository == b.code.ID {
			for _, s := range ev.Segments {
				c.documents += s.Documents
			}
		}
	})
	return c
}

func (b *bench) readBytes() int64 {
	b.t.Helper()
	families, err := b.metrics.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "quarry_mirror_read_bytes_total" {
			return int64(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	b.t.Fatal("no metric of bytes read")
	return 0
}

// largeText returns a text of 100 kB that begins like a Go file. It is so large that
// reading it clearly costs more than reading directories.
func largeText(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package p%d\n", n)
	for b.Len() < 100_000 {
		fmt.Fprintf(&b, "// line %d of text %d\n", b.Len(), n)
	}
	return b.String()
}

func branchAt(repo *gittest.Repository, name, from string) {
	repo.Git("checkout", "--quiet", "-B", name, from)
}

// TestFirstImportReadsABlobOnce imports many branches. Each has the files of the one
// before it, which the default branch lacks.
func TestFirstImportReadsABlobOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0))
	branches := []string{"main"}
	for i := 1; i <= 12; i++ {
		name := fmt.Sprintf("release/%d", i)
		b.repo.Git("checkout", "--quiet", "-b", name)
		b.repo.CommitFiles(fmt.Sprintf("f%d.go", i), largeText(i))
		branches = append(branches, name)
	}
	b.repo.Git("checkout", "--quiet", "main")
	c := b.measureCosts(b.registerRepository)
	b.check(branches...)
	if c.documents != 13 || c.readBytes > 13*110_000 {
		t.Errorf("13 blobs of 100 kB in 13 branches made %d documents of %d bytes read", c.documents, c.readBytes)
	}
}

// TestPushOfWhatAnotherRefHasReadsNothing pushes files to one branch that others have.
func TestPushOfWhatAnotherRefHasReadsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0))
	b.registerRepository()
	branchAt(b.repo, "one", "main")
	b.repo.CommitFiles("b.go", largeText(1), "picture.bin", "\x00\x01"+largeText(1))
	if c := b.measureCosts(func() { b.push("one") }); c.documents != 1 {
		t.Fatalf("a new file made %d documents", c.documents)
	}
	steps := []struct {
		name string
		do   func()
		push string
	}{
		{"a branch at the same commit", func() { branchAt(b.repo, "same", "one") }, "same"},
		{"the same files by another commit", func() {
			branchAt(b.repo, "two", "main")
			b.repo.CommitFiles("b.go", largeText(1), "picture.bin", "\x00\x01"+largeText(1))
		}, "two"},
		{"a merge into the default branch", func() {
			b.repo.Git("checkout", "--quiet", "main")
			b.repo.CommitFiles("b.go", largeText(1))
		}, "main"},
		{"a copy within a ref", func() { b.repo.CommitFiles("deep/down/copy.go", largeText(1)) }, "main"},
		{"a move", func() {
			b.repo.Git("mv", "a.go", "moved.go")
			b.repo.Commit()
		}, "main"},
		{"a move of what is not searchable", func() {
			b.repo.Git("checkout", "--quiet", "two")
			b.repo.Git("mv", "picture.bin", "image.bin")
			b.repo.Commit()
		}, "two"},
		{"what another branch had at first", func() {
			branchAt(b.repo, "three", "main")
			b.repo.CommitFiles("old.go", largeText(0))
		}, "three"},
	}
	for _, s := range steps {
		s.do()
		c := b.measureCosts(func() { b.push(s.push) })
		if c.documents != 0 || c.readBytes > 20_000 {
			t.Errorf("%s: %d documents, %d bytes read", s.name, c.documents, c.readBytes)
		}
	}
	b.check("main", "one", "same", "two", "three")
}

// TestMovedBinaryIsStillSkipped moves a binary file whose name does not reveal that it is
// binary.
func TestMovedBinaryIsStillSkipped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo.CommitFiles("a.go", "package a\n", "data", "\x00\x01\x02")
	b.registerRepository()
	b.repo.Git("mv", "data", "moved")
	b.repo.Commit()
	b.push("main")
	b.check("main")
	if got := b.refs["refs/heads/main"]["moved"].Skipped; got != code.SkipBinary {
		t.Errorf("a moved binary file is skipped as %q, want %q", got, code.SkipBinary)
	}
}

// TestDocumentsOfARefThatIsGoneAreReadAgain checks that documents of deleted refs are not
// relied on, because a merge may have dropped them.
func TestDocumentsOfARefThatIsGoneAreReadAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0))
	b.registerRepository()
	branchAt(b.repo, "one", "main")
	b.repo.CommitFiles("b.go", largeText(1))
	b.push("one")
	b.repo.Git("checkout", "--quiet", "main")
	b.repo.Git("branch", "--quiet", "-D", "one")
	b.push("one")
	branchAt(b.repo, "two", "main")
	b.repo.CommitFiles("b.go", largeText(1))
	if c := b.measureCosts(func() { b.push("two") }); c.documents != 1 {
		t.Errorf("a document that no ref names was brought back by %d documents", c.documents)
	}
	branchAt(b.repo, "three", "main")
	b.repo.CommitFiles("c.txt", largeText(1))
	if c := b.measureCosts(func() { b.push("three") }); c.documents != 1 {
		t.Errorf("the same bytes in another language made %d documents", c.documents)
	}
	b.check("main", "two", "three")
}

// TestRefreshReadsAgain checks that a refresh, which repairs documents that a reader
// lacks, does not assume that the documents of the ref are known.
func TestRefreshReadsAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0))
	b.registerRepository()
	branchAt(b.repo, "one", "main")
	b.repo.CommitFiles("b.go", largeText(1))
	b.push("one")
	branchAt(b.repo, "two", "one")
	b.push("two")
	for branch, want := range map[string]int{"main": 1, "two": 1} {
		c := b.measureCosts(func() {
			b.must(&event.Push{Repository: b.code.ID, Ref: code.BranchRef(branch), Action: event.ActionRefresh, ReceivedAt: time.Unix(3, 0)})
		})
		if c.documents != want {
			t.Errorf("a refresh of %s made %d documents, want %d", branch, c.documents, want)
		}
	}
	b.check("main", "one", "two")
}

// TestImportDiesInTheMiddle checks that an interrupted import continues with the refs
// that are not announced yet.
func TestImportDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0))
	branches := []string{"main"}
	for i := 1; i <= 5; i++ {
		name := fmt.Sprint("b", i)
		branchAt(b.repo, name, "main")
		b.repo.CommitFiles("b.go", largeText(1), fmt.Sprint(i, ".go"), largeText(i))
		branches = append(branches, name)
	}
	b.repo.Git("checkout", "--quiet", "main")
	b.x.o.Log = &cutLog{Log: b.x.o.Log, die: true}
	rec := b.append(&event.RepositoryRegistered{Repository: b.code, At: time.Unix(1, 0)})
	if err := b.deliver(rec); err == nil {
		t.Fatal("the append did not fail")
	}
	b.assigned = nil
	c := b.measureCosts(func() {
		if err := b.deliver(rec); err != nil {
			t.Fatal(err)
		}
	})
	if c.documents != 0 {
		t.Errorf("%d documents were made again", c.documents)
	}
	b.check(branches...)
}

// TestRefreshOfARefAndItsBase checks that documents of a base count as known once it is
// announced, but not while it is itself refreshed.
func TestRefreshOfARefAndItsBase(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0), "same.go", largeText(1))
	branchAt(b.repo, "one", "main")
	b.repo.CommitFiles("same.go", largeText(2))
	b.repo.Git("checkout", "--quiet", "main")
	b.registerRepository()
	c := b.measureCosts(func() {
		var pushes []*event.Push
		for _, branch := range []string{"main", "one"} {
			p := b.pushOf(branch, 3)
			p.Action = event.ActionRefresh
			pushes = append(pushes, p)
		}
		b.deliverTogether(pushes...)
	})
	if c.documents != 3 {
		t.Errorf("a refresh of two refs with 3 documents made %d, want 3", c.documents)
	}
	b.check("main", "one")
}

// TestNewBranchWhereAnotherWas creates a branch at the indexed commit of the default branch,
// which moves on in the same batch: the new branch must not build on the commit that it left.
func TestNewBranchWhereAnotherWas(t *testing.T) {
	t.Parallel()
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", largeText(0), "b.go", largeText(1))
	b.registerRepository()
	branchAt(b.repo, "release", "main")
	b.repo.Git("checkout", "--quiet", "main")
	b.repo.CommitFiles("a.go", largeText(2))
	b.deliverTogether(b.pushOf("main", 3), b.pushOf("release", 3))
	b.check("main", "release")
}
