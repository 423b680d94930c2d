package server

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
)

// TestTextOfRemovedRepositoryIsGone removes a repository that shares a partition and
// segments with another one. Within pipeline.purgeAfter, no file of the data directory
// contains its text or the text of its former commits, and neither does the previous
// version of the projections.
func TestTextOfRemovedRepositoryIsGone(t *testing.T) {
	t.Parallel()
	const was, is, kept = "formercanaryqzjxkv", "presentcanarywqzjx", "keptcanaryvkxqjz"
	removed, stays := newGitRepository(t, "removed"), newGitRepository(t, "stays")
	removed.commitFiles("a.txt", was+"\n", "b.txt", "b\n")
	staying := stays.commitFiles("c.txt", kept+"\n")
	var log logBuffer
	logger, err := boot.NewLogger(&log, slog.LevelInfo, boot.FormatText)
	if err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, "git.allowedRoots="+filepath.Dir(removed.dir)+","+filepath.Dir(stays.dir), "log.partitions=1", "pipeline.purgeAfter=2s")
	s, err := Open(t.Context(), Options{Config: c, Logger: logger, Registerer: prometheus.NewRegistry(), Gatherer: prometheus.NewRegistry(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	s.registerAt(t, stays, staying)
	_, _, err = s.registrar.Register(t.Context(), removed.Repository)
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(removed.ID) != "" })
	present := removed.commitFiles("a.txt", is+"\n")
	if _, err := s.registrar.Refresh(t.Context(), removed.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.defaultAt(removed.ID) == present })
	s.replayAll(t)
	waitUntil(t, func() bool { return s.segmentCount() == 1 }) // nothing is left to merge
	for _, word := range []string{is, kept} {
		if found := firstElements(filesWith(t, c.Data, word)); found != "mirrors projections segments" {
			t.Fatalf("%s is in files of %s before the removal: the test sees nothing", word, found)
		}
	}
	begun := time.Now()
	if _, err := s.registrar.Remove(t.Context(), removed.ID, "test"); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool {
		return len(filesWith(t, c.Data, is)) == 0 && len(filesWith(t, c.Data, was)) == 0
	})
	t.Logf("gone after %s", time.Since(begun))
	if found := firstElements(filesWith(t, c.Data, kept)); found != "mirrors projections segments" {
		t.Errorf("the text of the other repository is in files of %q", found)
	}
	if s.defaultAt(stays.ID) != staying {
		t.Error("the other repository is not searchable")
	}
	waitUntil(t, func() bool {
		return strings.Contains(log.String(), "text of removed repositories and branches deleted from disk")
	})
	if w := s.versions.Live().Places.PendingRemoval(); w.Segments != 0 {
		t.Errorf("waiting: %+v", w)
	}
	if !strings.Contains(log.String(), "dropped the previous version of the projections") {
		t.Error("the previous version was kept")
	}
}

// TestTextOfRemovedBranchIsGone deletes an indexed branch.
func TestTextOfRemovedBranchIsGone(t *testing.T) {
	t.Parallel()
	const word = "branchcanaryqzjxkvw"
	g := newGitRepository(t, "branches", "side")
	first := g.commitFiles("a.txt", "a\n")
	g.runGitCommand("checkout", "--quiet", "-b", "side")
	g.commitFiles("b.txt", word+"\n")
	g.runGitCommand("checkout", "--quiet", "main")
	c := testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir), "log.partitions=1", "pipeline.purgeAfter=2s")
	s := runServer(t, c)
	s.registerAt(t, g, first)
	waitUntil(t, func() bool {
		return strings.Contains(firstElements(filesWith(t, c.Data, word)), "projections segments")
	})
	waitUntil(t, func() bool { return s.segmentCount() == 1 })
	g.runGitCommand("branch", "--quiet", "-D", "side")
	if _, err := s.registrar.Refresh(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool {
		found := filesWith(t, c.Data, word)
		return !strings.Contains(fmt.Sprint(found), "segment") && !strings.Contains(fmt.Sprint(found), "projections")
	})
}

// segmentCount returns how many segments a search visits.
func (s *Server) segmentCount() int {
	v := s.versions.Live().Places.Acquire()
	defer v.Release()
	return len(v.SegmentInfos())
}
