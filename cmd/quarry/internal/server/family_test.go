package server

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// clone returns a clone of g with another name.
func (g *gitRepository) clone(t *testing.T, name string) *gitRepository {
	t.Helper()
	c := newGitRepository(t, name, g.Branches...)
	c.runGitCommand("fetch", "--quiet", g.dir, "main")
	c.runGitCommand("reset", "--quiet", "--hard", "FETCH_HEAD")
	return c
}

// segmentDocuments counts the documents of all segments, and those that no manifest names.
func (s *Server) segmentDocuments() (documents, unheld int) {
	v := s.versions.Live().Places.Acquire()
	defer v.Release()
	for _, info := range v.SegmentInfos() {
		documents += info.Documents
	}
	return documents, v.UnheldCount()
}

func (s *Server) checkDocuments(t *testing.T, when string, want int) {
	t.Helper()
	if documents, unheld := s.segmentDocuments(); documents != want || unheld != 0 {
		t.Errorf("%s: %d documents in segments, %d that nobody holds, want %d and none", when, documents, unheld, want)
	}
}

// checkHolders checks that a word is found in exactly the given repositories.
func (s *Server) checkHolders(t *testing.T, when, word string, all []*gitRepository, holders ...*gitRepository) {
	t.Helper()
	for _, g := range all {
		found := len(mustAsk(t, s, word+" repo:"+g.Name)) > 0
		if want := slices.Contains(holders, g); found != want {
			t.Errorf("%s: %s is found in %s: %v, want %v", when, word, g.Name, found, want)
		}
	}
}

// TestFamilySharesDocuments registers three clones of a repository under three names,
// removes and erases those that were registered first, and replays the log.
func TestFamilySharesDocuments(t *testing.T) {
	t.Parallel()
	const files, shared, lonely = 60, "sharedcanaryqzvjx", "lonelycanaryxjvzq"
	first := newGitRepository(t, "first")
	var pairs []string
	for i := range files {
		pairs = append(pairs, fmt.Sprintf("dir%d/file%d.go", i%5, i), fmt.Sprintf("package p\n\n// text %d\n", i))
	}
	first.commitFiles(pairs...)
	head := first.commitFiles("shared.txt", shared+"\n")
	second, third := first.clone(t, "second"), first.clone(t, "third")
	lonelyHead := first.commitFiles("lonely.txt", lonely+"\n")
	all := []*gitRepository{first, second, third}
	c := erasureConfig(t, first, second, third)
	s := runServer(t, c)
	s.registerAt(t, first, lonelyHead)
	s.checkDocuments(t, "one repository", files+2)
	s.registerAt(t, second, head)
	s.registerAt(t, third, head)
	s.checkDocuments(t, "three clones", files+2)
	s.checkHolders(t, "three clones", shared, all, first, second, third)
	was := recordMoment(t, s)

	third.commitFiles("new.go", "package new\n\n// newcanaryword\n")
	s.pushAll(t, third)
	second.commitFiles("copy/new.go", "package new\n\n// newcanaryword\n")
	s.pushAll(t, second)
	s.checkDocuments(t, "one new file, in two of them", files+3)
	s.checkHolders(t, "one new file, in two of them", "newcanaryword", all, second, third)

	replayToEnd(t, s, "/api/replays", fmt.Sprintf(`{"to":%q}`, was.positionList()))
	s.checkHolders(t, "of the past", "newcanaryword", all)
	s.checkHolders(t, "of the past", shared, all, all...)
	was.compareAnswers(t, s, "of the past")
	s.replayAll(t)

	begun := s.requestErasure(t, first, "")
	checkErased(t, c, s.awaitErasure(t, begun.At), lonely)
	s.checkDocuments(t, "without the first holder", files+2)
	s.checkHolders(t, "without the first holder", shared, all, second, third)

	if _, err := s.registrar.AppendEvent(t.Context(), &event.RepositoryRemoved{Repository: third.ID, At: time.Now().UTC()}); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(third.ID) == "" })
	s.checkHolders(t, "one is left", "newcanaryword", all, second)
	s.replayAll(t)
	s.checkHolders(t, "after a replay", "newcanaryword", all, second)
	s.checkHolders(t, "after a replay", shared, all, second)
	second.commitFiles("again.go", "package new\n\n// newcanaryword\n")
	s.pushAll(t, second)
	if _, unheld := s.segmentDocuments(); unheld != 0 {
		t.Errorf("%d documents are held by nobody", unheld)
	}
}

// pushAll refreshes a repository and waits until its default branch is indexed.
func (s *Server) pushAll(t *testing.T, g *gitRepository) {
	t.Helper()
	if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	head := code.CommitID(g.runGitCommand("rev-parse", "HEAD"))
	waitUntil(t, func() bool { return s.defaultAt(g.ID) == head })
}

// TestFamilyImportedAtOnce indexes the same documents in several lanes at the same time.
// Merges drop the duplicates.
func TestFamilyImportedAtOnce(t *testing.T) {
	t.Parallel()
	const files = 200
	first := newGitRepository(t, "first")
	var pairs []string
	for i := range files {
		pairs = append(pairs, fmt.Sprintf("dir%d/file%d.go", i%5, i), fmt.Sprintf("package p\n\n// text %d\n", i))
	}
	first.commitFiles(pairs...)
	members := []*gitRepository{first}
	roots := filepath.Dir(first.dir)
	for i := range 3 {
		m := first.clone(t, fmt.Sprintf("clone%d", i))
		members, roots = append(members, m), roots+","+filepath.Dir(m.dir)
	}
	s := runServer(t, testConfig(t, "git.allowedRoots="+roots))
	for _, m := range members {
		if _, _, err := s.registrar.Register(t.Context(), m.Repository); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range members {
		head := code.CommitID(m.runGitCommand("rev-parse", "HEAD"))
		waitUntil(t, func() bool { return s.defaultAt(m.ID) == head })
	}
	before, _ := s.segmentDocuments()
	eventuallyOr(t, func() bool {
		documents, unheld := s.segmentDocuments()
		return documents == files && unheld == 0
	}, func() string {
		documents, unheld := s.segmentDocuments()
		return fmt.Sprintf("%d documents of %d, %d held by nobody", documents, files, unheld)
	})
	t.Logf("%d documents at first, %d in the end", before, files)
}
