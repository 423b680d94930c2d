package indexer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/changeset"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/seedtest"
)

// checkClasses verifies check, and that the language and flags of every file equal those
// that the files of its commit determine together.
func (b *bench) checkClasses(branches ...string) {
	b.t.Helper()
	b.check(branches...)
	for _, branch := range branches {
		texts := b.readTree(branch)
		for name, c := range b.refs[code.BranchRef(branch)] {
			if c.Skipped != "" {
				continue
			}
			o := b.attributesIn(texts, path.Dir(name)).Classify(name)
			language, flags := b.x.o.Analyzer.Place(name, []byte(texts[name]))
			if o.Language != "" {
				language = o.Language
			}
			if flags = o.Apply(flags); c.Language != language || c.Flags != flags {
				b.t.Fatalf("%s of %s is %q with flags %b, want %q with flags %b; the attributes are %q", name, branch, c.Language, c.Flags, language, flags, attributesAmong(texts))
			}
		}
	}
}

// dropDead removes the documents that no ref names, as merges do.
func (b *bench) dropDead() {
	live := map[code.DocumentKey]bool{}
	for _, manifest := range b.refs {
		for _, c := range manifest {
			live[code.DocumentKey{Blob: c.Blob, Language: c.Language}] = true
		}
	}
	maps.DeleteFunc(b.docs, func(k code.DocumentKey, _ []byte) bool { return !live[k] })
}

// readTree returns the texts of the files of a branch.
func (b *bench) readTree(branch string) map[string]string {
	b.t.Helper()
	texts := map[string]string{}
	for _, line := range b.listTree(branch) {
		meta, name, _ := strings.Cut(line, "\t")
		if fields := strings.Fields(meta); fields[0] != "120000" {
			text, ok := readBlobs[fields[2]]
			if !ok {
				text = b.repo.Git("cat-file", "blob", fields[2])
				readBlobs[fields[2]] = text
			}
			texts[name] = text
		}
	}
	return texts
}

// readBlobs caches the blobs that readTree has read. The tests that use it do not run in
// parallel.
var readBlobs = map[string]string{}

func (b *bench) attributesIn(texts map[string]string, dir string) *analyze.Attributes {
	b.t.Helper()
	if dir != "." {
		above := b.attributesIn(texts, path.Dir(dir))
		return above.Within(dir+"/", b.parseAttributes(texts[dir+"/"+analyze.AttributesName]))
	}
	var none *analyze.Attributes
	return none.Within("", b.parseAttributes(texts[analyze.AttributesName]))
}

func (b *bench) parseAttributes(text string) *analyze.AttributesFile {
	b.t.Helper()
	f, err := analyze.ParseAttributes([]byte(text))
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

func attributesAmong(texts map[string]string) map[string]string {
	return maps.Collect(func(yield func(string, string) bool) {
		for name, text := range texts {
			if path.Base(name) == analyze.AttributesName && !yield(name, text) {
				return
			}
		}
	})
}

func TestAttributesReclassifyFiles(t *testing.T) {
	b := newBench(t, "dev*")
	b.repo.CommitFiles("a.h", "int a;\n", "dir/b.h", "int b;\n", "dir/gen.go", "package gen\n", "c.py", "c = 1\n")
	b.registerRepository()
	b.checkClasses("main")
	changed := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range b.last.Changes {
			got = append(got, c.Path)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("the push changed %q, want %q", got, want)
		}
	}
	b.repo.CommitFiles(".gitattributes", "*.h linguist-language=C++\ngen.go linguist-generated\n")
	b.push("main")
	b.checkClasses("main")
	changed(".gitattributes", "a.h", "dir/b.h", "dir/gen.go")
	if c := b.refs["refs/heads/main"]["dir/b.h"]; c.Language != "C++" {
		t.Fatalf("dir/b.h is %s, want C++", c.Language)
	}

	b.repo.CommitFiles("dir/.gitattributes", "*.h linguist-language=Objective-C\n")
	b.push("main")
	b.checkClasses("main")
	changed("dir/.gitattributes", "dir/b.h")

	// Another branch with the same blobs, and no attributes: the documents exist.
	b.repo.Git("checkout", "--quiet", "-b", "dev")
	b.repo.Remove(".gitattributes")
	b.repo.Remove("dir/.gitattributes")
	b.repo.Commit()
	b.push("dev")
	b.checkClasses("main", "dev")

	// The classification of unchanged files without another language reads no blob.
	b.repo.CommitFiles(".gitattributes", "c.py -linguist-vendored linguist-documentation\n")
	b.push("dev")
	b.checkClasses("main", "dev")
	changed(".gitattributes", "c.py")
	if n := b.last.Segments[0].Documents; len(b.last.Segments) != 1 || n != 1 {
		t.Fatalf("a change of flags built %d documents, want that of .gitattributes", n)
	}

	b.repo.Git("checkout", "--quiet", "main")
	b.repo.CommitFiles(".gitattributes", "* -text\n")
	b.push("main")
	b.checkClasses("main", "dev")
	changed(".gitattributes", "a.h", "dir/gen.go")
	b.repo.CommitFiles("a.h", "int changed;\n")
	b.push("main")
	b.checkClasses("main", "dev")
	changed("a.h")

	// A macro that a directory uses before the root defines it.
	b.repo.CommitFiles("dir/.gitattributes", "*.h mine\n")
	b.push("main")
	b.checkClasses("main", "dev")
	changed("dir/.gitattributes", "dir/b.h") // which was Objective-C
	b.repo.CommitFiles(".gitattributes", "[attr]mine linguist-generated linguist-language=C++\n")
	b.push("main")
	b.checkClasses("main", "dev")
	changed(".gitattributes", "dir/b.h")
	if c := b.refs["refs/heads/main"]["dir/b.h"]; c.Language != "C++" || c.Flags&code.FlagGenerated == 0 {
		t.Fatalf("dir/b.h is %s with flags %b, want generated C++", c.Language, c.Flags)
	}
}

// TestAttributesModel makes random changes of files and attributes on several branches,
// and compares the index of each with its files.
func TestAttributesModel(t *testing.T) {
	seed := seedtest.ChooseSeed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	b := newBench(t, "main", "dev*")
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	text := func() string {
		return pick("int a;\n", "package a\n", "// Code generated by x. DO NOT EDIT.\n", "class A {};\n", "@interface A\n@end\n")
	}
	change := func() {
		for range 1 + rng.IntN(3) {
			dir := pick("", "", "d/", "d/e/", "vendor/")
			switch rng.IntN(6) {
			case 0:
				_ = os.RemoveAll(path.Join(b.repo.Dir, dir+".gitattributes"))
			case 1, 2:
				var lines strings.Builder
				for range rng.IntN(4) {
					lines.WriteString(pick("*", "*.h", "a.h", "d/**", "e/*", "/a.*", "**/e/a.go", "vendor/*", "[attr]mine", "[attr]mine") + " " +
						pick("mine", "mine", "-mine", "linguist-language=C++", "linguist-language=Go", "linguist-language=None", "!linguist-language", "text") + " " +
						pick("linguist-generated", "-linguist-generated", "linguist-vendored=false", "linguist-documentation", "-linguist-documentation", "eol=lf") + "\n")
				}
				b.repo.Write(dir+".gitattributes", lines.String())
			case 3:
				_ = os.RemoveAll(path.Join(b.repo.Dir, dir+pick("a.h", "a.go")))
			default:
				b.repo.Write(dir+pick("a.h", "b.h", "a.go", "README.md", "a.m"), text())
			}
		}
		b.repo.Commit()
	}
	for range 3 {
		change()
	}
	b.registerRepository()
	branches := []string{"main"}
	for step := range 40 {
		branch := pick(branches...)
		b.repo.Git("checkout", "--quiet", "--force", branch)
		if len(branches) < 4 && rng.IntN(6) == 0 {
			branch = fmt.Sprint("dev", len(branches))
			b.repo.Git("checkout", "--quiet", "-b", branch)
			branches = append(branches, branch)
		}
		if rng.IntN(5) == 0 {
			b.repo.Git("reset", "--quiet", "--hard", pick(branches...))
		}
		change()
		if rng.IntN(10) == 0 {
			b.loseMirrors()
			b.must(b.refreshOf(""))
		} else {
			b.push(branch)
		}
		t.Logf("seed %d, step %d: %s", seed, step, branch)
		b.checkClasses(branches...)
		b.dropDead()
	}
}

// TestAttributesOfFamily indexes a fork with other attributes than its origin has: the
// documents of its origin in another language do not count as its own.
func TestAttributesOfFamily(t *testing.T) {
	b := newBench(t)
	b.repo.CommitFiles("a.h", "int a;\n", "b.h", "int b;\n")
	origin, dir := b.code, b.repo
	b.registerRepository()
	b.repo.CommitFiles(".gitattributes", "a.h linguist-language=C++\n")
	b.push("main")
	b.dropDead() // a.h in C, whose reading remains known
	fork := dir.Clone(path.Join(b.dir, "clones", "fork"))
	fork.CommitFiles(".gitattributes", "b.h linguist-language=C++\n")
	b.repo, b.code = fork, fork.Code("fork")
	b.refs, b.causes, b.commits = map[code.Ref]map[string]event.Change{}, map[code.Ref]event.Offset{}, map[code.Ref]code.CommitID{}
	b.registerRepository()
	b.checkClasses("main")
	if b.code.ID == origin.ID {
		t.Fatal("the fork has the ID of its origin")
	}
}

// TestRefsWithoutAttributesAreClassifiedOnce has the state that a version left which
// ignored attributes: the first push to the repository classifies all of its refs.
func TestRefsWithoutAttributesAreClassifiedOnce(t *testing.T) {
	b := newBench(t, "dev", "plain")
	b.repo.CommitFiles("a.h", "int a;\n")
	b.repo.Git("branch", "dev")
	b.repo.Git("branch", "plain")
	b.registerRepository()
	ignored := b.repo.CommitFiles(".gitattributes", "*.h linguist-language=C++\n")
	b.repo.Git("branch", "--force", "dev")
	m := b.mirrors.Mirror(b.code.ID)
	if _, err := m.Fetch(t.Context(), b.code); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []code.Ref{"refs/heads/main", "refs/heads/dev"} {
		ev := &event.RevisionIndexed{
			Repository: b.code.ID, Ref: ref, Commit: ignored, BaseRef: ref, BaseCommit: b.commits[ref], DefaultBranch: "main",
			Changes: []event.Change{{Path: ".gitattributes", Skipped: code.SkipTooLarge, SizeBytes: 1}},
			Cause:   event.Position{Topic: event.TopicEvents, Offset: b.causes[ref]}, PushedAt: time.Unix(2, 0), IndexedAt: time.Unix(3, 0),
		}
		b.append(ev)
		if err := m.SetIndexed(t.Context(), ref, ignored, "refs/heads/main"); err != nil {
			t.Fatal(err)
		}
	}
	b.apply()
	if err := os.Remove(unclassifiedPath(m)); err != nil {
		t.Fatal(err)
	}
	if got := b.refs["refs/heads/dev"]["a.h"].Language; got == "C++" {
		t.Fatal("the test does not have the state of an earlier version")
	}
	b.repo.CommitFiles("b.h", "int b;\n")
	announced := b.countRevisions()
	b.push("main")
	b.checkClasses("main", "dev", "plain")
	if got := b.countRevisions() - announced; got != 2 {
		t.Errorf("the first push announced %d refs, want main and dev", got)
	}
	b.repo.CommitFiles("b.h", "int c;\n")
	b.push("main")
	if len(b.last.Changes) != 1 || b.last.BaseCommit == "" {
		t.Errorf("the second push is %+v, want a change of b.h", b.last)
	}
	b.checkClasses("main", "dev", "plain")
}

// countRevisions returns the number of announcements in the log.
func (b *bench) countRevisions() (n int) {
	b.t.Helper()
	high, err := b.log.HighWater(b.t.Context(), event.TopicEvents)
	if err != nil {
		b.t.Fatal(err)
	}
	for rec, err := range event.ReadRange(b.t.Context(), eventlog.Log(b.log), event.TopicEvents, 0, 0, high[0]) {
		if err != nil {
			b.t.Fatal(err)
		}
		if event.TypeOf(rec) == event.TypeRevisionIndexed {
			n++
		}
	}
	return n
}

// TestPushWithoutAttributesReadsNoMore counts the objects that the attributes of a push
// need: none without attributes, and else each file of attributes once.
func TestPushWithoutAttributesReadsNoMore(t *testing.T) {
	b := newBench(t)
	for i := range 50 {
		b.repo.Write(fmt.Sprintf("d%d/e%d/a.go", i%7, i), "package a\n")
	}
	first := b.repo.Commit()
	second := b.repo.CommitFiles("d1/e1/a.go", "package b\n", "d2/e9/new.go", "package c\n", "top.go", "package d\n")
	third := b.repo.CommitFiles("d1/.gitattributes", "* text\n")
	fourth := b.repo.CommitFiles("d1/e1/a.go", "package e\n")
	b.registerRepository()
	m := b.mirrors.Mirror(b.code.ID)
	for _, c := range []struct {
		base, commit code.CommitID
		want         int
	}{{first, second, 0}, {third, fourth, 1}, {"", second, 0}} {
		trees, err := m.Trees(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h := &indexRun{x: b.x, m: m, trees: trees, parsed: parsedAttributes{}, checkedTrees: map[mirror.ObjectID]bool{}}
		ref := &refChange{base: code.Revision{Commit: c.base}}
		ref.Commit = c.commit
		between, err := changeset.Compare(t.Context(), trees, c.base, c.commit, changeset.MaxChanges)
		if err != nil || len(between) == 0 {
			t.Fatal(between, err)
		}
		compared := trees.ObjectsRead()
		before, after, all, err := h.readAttributesOf(t.Context(), ref, between)
		if err != nil || len(all) != len(between) {
			t.Fatal(all, err)
		}
		for i := range all {
			for _, a := range []*commitAttributes{before, after} {
				if _, err := a.classify(t.Context(), all[i].Path); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := trees.ObjectsRead() - compared; got != c.want {
			t.Errorf("from %q to %q: attributes read %d objects, after %d of the comparison; want %d", c.base, c.commit, got, compared, c.want)
		}
		trees.Close()
	}
}
