package server

import (
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// TestReadersRefillLostMirrors loses the mirrors of two quiet repositories. The requests
// for the history of one of them have its mirror fetched once, without a push; that of the
// other stays lost until a verification repairs it.
func TestReadersRefillLostMirrors(t *testing.T) {
	t.Parallel()
	read, quiet := newGitRepository(t, "read"), newGitRepository(t, "quiet")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(read.dir)+","+filepath.Dir(quiet.dir), "pipeline.reconcileInterval=0"))
	for _, g := range []*gitRepository{read, quiet} {
		g.commitFiles("a.txt", "one\n")
		s.registerAt(t, g, g.commitFiles("a.txt", "two\n"))
	}
	for _, g := range []*gitRepository{read, quiet} {
		// The worker may still write to the mirror.
		waitUntil(t, func() bool { return os.RemoveAll(s.pipeline.mirrors.Mirror(g.ID).File("")) == nil })
		status := awaitStatus(t, s, uint64(g.ID), func(map[string]any) bool { return true })
		if status["mirrorMissing"] != true {
			t.Errorf("%s: the status does not say that the mirror is missing: %v", g.Name, status)
		}
	}
	if found := verifyNow(t, s, verification.Request{}); found.summary.Unchecked != 2 || found.summary.Differences != 0 {
		t.Errorf("verify: %v, %+v; want 2 repositories that could not be compared", found.lines, found.summary)
	}

	paths := []string{
		fmt.Sprintf("/api/commits?repo=%s", read.Name),
		fmt.Sprintf("/api/blame?repo=%s&path=a.txt", read.Name),
		fmt.Sprintf("/api/diff?repo=%s&base=main~1&head=main", read.Name),
	}
	if status, body := getURL(t, s.URL()+paths[0]); status != http.StatusServiceUnavailable || !strings.Contains(body, "fetched again") {
		t.Errorf("GET %s: %d %s, want 503 that says what happens", paths[0], status, body)
	}
	var readers sync.WaitGroup
	for range 4 {
		for _, path := range paths {
			readers.Go(func() {
				eventuallyOr(t, func() bool {
					status, body := getURL(t, s.URL()+path)
					if status != http.StatusOK && status != http.StatusServiceUnavailable {
						t.Errorf("GET %s: %d %s", path, status, body)
					}
					return status == http.StatusOK
				}, func() string { return path + " stays unavailable" })
			})
		}
	}
	readers.Wait()
	if n := s.countRepairs(t); n != 1 {
		t.Errorf("%d requests to fetch a mirror are in the log, want 1 for all readers", n)
	}
	if status := awaitStatus(t, s, uint64(read.ID), func(map[string]any) bool { return true }); status["mirrorMissing"] != nil {
		t.Errorf("the mirror is there, and the status says %v", status)
	}
	found := verifyNow(t, s, verification.Request{Repair: true})
	if found.summary.Unchecked != 0 || found.summary.Differences != 0 {
		t.Errorf("verify and repair: %v, %+v; want everything compared", found.lines, found.summary)
	}
	if found := verifyNow(t, s, verification.Request{}); found.summary.Unchecked != 0 || found.summary.Differences != 0 || found.summary.Refs != 2 {
		t.Errorf("verify after the repair: %v, %+v; want 2 refs without a difference", found.lines, found.summary)
	}
}

// countRepairs counts the pushes in the log that replace something lost.
func (s *Server) countRepairs(t *testing.T) (n int) {
	t.Helper()
	for rec := range s.eventRecords(t) {
		if event.SourceOf(rec) == event.RepairSource {
			n++
		}
	}
	return n
}

// eventRecords returns the records that the log has now.
func (s *Server) eventRecords(t *testing.T) iter.Seq[event.Record] {
	t.Helper()
	high, err := s.log.HighWater(t.Context(), event.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(event.Record) bool) {
		for partition, end := range high {
			for rec, err := range event.ReadRange(t.Context(), s.log, event.TopicEvents, int32(partition), 0, end) {
				if err != nil {
					t.Fatal(err)
				}
				if !yield(rec) {
					return
				}
			}
		}
	}
}
