package server

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// TestGiantTree registers a repository whose tree has ten levels of ten entries, all of
// them the same tree: 10^10 files in 11 objects. The import is refused, and its memory is
// returned to the system.
func TestGiantTree(t *testing.T) {
	percent := debug.SetGCPercent(100) // what servers run with
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	g := newGitRepository(t, "giant")
	g.commitFiles("a.txt", "a")
	tree := g.writeTree("100644 file", g.runGitCommand("rev-parse", "HEAD:a.txt"))
	for range 10 {
		var entries []string
		for i := range 10 {
			entries = append(entries, fmt.Sprint("40000 d", i), tree)
		}
		tree = g.writeTree(entries...)
	}
	g.commitTree(tree)
	s := runServer(t, testConfig(t, "git.allowedRoots="+g.dir, "pipeline.reconcileInterval=0", "pipeline.maxFiles=300000"))
	held := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapSys - m.HeapReleased)
	}
	debug.FreeOSMemory()
	before := held()
	if _, _, err := s.registrar.Register(t.Context(), g.Repository); err != nil {
		t.Fatal(err)
	}
	var status indexing.Status
	waitUntil(t, func() bool {
		status, _ = s.newStatusReader().Status(t.Context(), g.ID) // the repository is not registered at first
		return status.LastError != nil
	})
	if status.LastError.Code != failure.TooLarge {
		t.Errorf("failed with %+v", status.LastError)
	}
	// 300,000 changes take about 60 MB.
	if more := held() - before; more > 16<<20 {
		t.Errorf("the process holds %d MiB more than before", more>>20)
	}
}
