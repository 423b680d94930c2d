package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// replicaThatReturns has segments merged and their objects deleted while a query node is
// stopped with SIGSTOP, and once more while it is killed. When it returns, it applies records
// that name the deleted objects. No answer of it lacks matches and claims to be exhaustive, its
// answers become complete, and no process requests that anything is indexed again.
func replicaThatReturns(t *testing.T, broker *kafkatest.Broker) {
	r := startReplicas(t, broker)
	returning := r.queries[1]
	pushed := 0
	// merge pushes files until segments were merged and deleted.
	merge := func() {
		t.Helper()
		r.server = r.queries[0]
		for range 17 {
			word := fmt.Sprint("cittern", pushed)
			r.pushWord(word)
			r.awaitWord(word)
			pushed++
		}
		if !pollUntil(func() bool {
			left, err := filepath.Glob(filepath.Join(r.dir, "segments", "segment-*"))
			return err == nil && len(left) <= 8
		}) {
			t.Fatalf("after %d pushes, no segments were merged and deleted\n%s", pushed, r.server.output)
		}
	}
	// await searches the node until an answer is complete.
	await := func(when string) {
		t.Helper()
		short := map[string]int{}
		if !pollUntil(func() bool {
			status, answer, err := returning.search(map[string]any{"query": "here cittern", "matches": 1000}, nil)
			switch {
			case err != nil || status != http.StatusOK:
				return false // busy
			case answer.Exhaustive && answer.Stats.Files < pushed:
				t.Fatalf("%s: found %d of %d files and claims to be exhaustive", when, answer.Stats.Files, pushed)
			case !answer.Exhaustive:
				short[answer.Reason]++
			}
			return answer.Exhaustive
		}) {
			t.Fatalf("%s: no answer is complete: %v\n%s", when, short, returning.output)
		}
		if n, _ := metricOf(returning, "quarry_places_broken_total", `reason="segment_absent"`); n == 0 {
			t.Errorf("%s: no record named a segment that was deleted: the test shows nothing", when)
		}
	}

	freeze(t, returning)
	laggedAt := time.Now().Add(3 * time.Second) // longer than query.maxLag
	merge()
	pollUntil(func() bool { return time.Now().After(laggedAt) })
	must(t, returning.cmd.Process.Signal(syscall.SIGCONT))
	await("after SIGCONT")
	returning.killProcess()
	merge()
	returning = r.startNode("query-1", "query")
	await("after a restart")
	status, deliveries, err := sendRequest(http.MethodGet, returning.url+"/api/deliveries?limit=100", http.Header{}, nil)
	if err != nil || status != http.StatusOK || !strings.Contains(deliveries, "msg_cittern0") || strings.Contains(deliveries, event.RepairSource) {
		t.Errorf("the ledger lacks the pushes, or a node has requested that refs are indexed again: %d %s, %v", status, deliveries, err)
	}
}
