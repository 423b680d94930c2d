package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestTiersAreVisitedInTurn notes which tasks a worker may take while it visits one. A search for
// the best files of a small limit takes those of one tier at a time, and none after the cutoff.
func TestTiersAreVisitedInTurn(t *testing.T) {
	m := &searchtest.Model{}
	m.AddSources(t, "host/a one.c - C wordy")
	m.AddSources(t, "host/a two.c - C wordy")
	for _, c := range []struct {
		matches, cutoff int
		want            string
	}{
		{10, 99, "0:2 1:2 2:4 3:4 4:6 5:6"},
		{10, 1, "0:2 1:2"},
		{MinLooked, 99, "0:6 1:6 2:6 3:6 4:6 5:6"},
	} {
		run := newTestRun(t, m, Request{Query: searchtest.Parse(t, "wordy"), Matches: c.matches})
		run.plan.schedule.tiers = []tier{tierDefines, tierNamed, tierMain}
		run.setTasks()
		run.cutoff.Store(int32(c.cutoff))
		ticket, err := newSearcher(Options{}).admission.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pool := &workerPool{run: run, ticket: ticket, done: t.Context().Done()}
		first := pool.newWorker(nil)
		var taken []string
		pool.visitTiers(first, func(_ *segmentSearcher, task int) { taken = append(taken, fmt.Sprint(task, ":", run.mu.end)) })
		first.endWorker()
		ticket.Leave()
		if got := strings.Join(taken, " "); got != c.want {
			t.Errorf("limit %d, cutoff %d: took %s, want %s", c.matches, c.cutoff, got, c.want)
		}
	}
}
