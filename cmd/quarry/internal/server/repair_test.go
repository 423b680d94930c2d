package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quarrysearch/quarry/schemas/replay"
)

// TestRepairOfHiddenDocuments loses the text of a file that no ref shows: the branch was
// created before the default branch changed the file, and contains other text. The chaos
// suite found that it counted as missing forever.
func TestRepairOfHiddenDocuments(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "anvil", "release/*")
	first := g.commitFiles("same.txt", "alpha\n")
	c := testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0", "pipeline.mergeInterval=0")
	var lost []string
	t.Run("import", func(t *testing.T) {
		s := runServer(t, c)
		s.registerAt(t, g, first)
		for name := range objectsOf(t, c.SegmentsDir(), "segment-*") {
			lost = append(lost, name)
		}
		g.runGitCommand("checkout", "--quiet", "-b", "release/1")
		g.commitFiles("same.txt", "beta\n")
		g.runGitCommand("checkout", "--quiet", "main")
		at, err := s.registrar.Refresh(t.Context(), g.ID)
		if err != nil {
			t.Fatal(err)
		}
		waitUntil(t, func() bool {
			before, err := s.versions.Live().Fence.AppliedOffset(t.Context(), at.Partition)
			return err == nil && before > at.Offset
		})
		s.pushAndAwait(t, g, "same.txt", "gamma\n")
	})
	for _, name := range lost {
		if err := os.Remove(filepath.Join(c.SegmentsDir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(c.ProjectionsDir()); err != nil {
		t.Fatal(err)
	}
	s := runServer(t, c)
	<-s.versions.Live().Runner.CaughtUp()
	if missing := s.versions.ReportMissing(); missing.Documents != 1 {
		t.Fatalf("%+v is missing, want one document", missing)
	}
	waitUntil(t, func() bool { return s.versions.ReportMissing() == (replay.Missing{}) })
}
