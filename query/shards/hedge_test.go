package shards

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestHedger checks when a call is late, and how many of them are sent twice.
func TestHedger(t *testing.T) {
	h := &hedger{}
	for i := range minHedgeSamples {
		if _, known := h.delay("open"); known {
			t.Fatalf("a delay is known after %d calls", i)
		}
		h.observeCall("open", 10*time.Millisecond)
	}
	if delay, known := h.delay("open"); !known || delay != 10*time.Millisecond {
		t.Errorf("%v, %v, want 10 ms", delay, known)
	}
	if _, known := h.delay("status"); known {
		t.Error("the calls of another kind count")
	}
	for i := range hedgeSamples {
		h.observeCall("open", time.Duration(i+1)*time.Millisecond)
	}
	if delay, _ := h.delay("open"); delay < 240*time.Millisecond || delay > 246*time.Millisecond {
		t.Errorf("%v of 1 to 256 ms, want the 95th percentile", delay)
	}
	for range hedgeSamples {
		h.observeCall("open", time.Microsecond)
	}
	if delay, _ := h.delay("open"); delay != minHedgeDelay {
		t.Errorf("%v of fast calls, want %v", delay, minHedgeDelay)
	}
	h = &hedger{}
	spent := 0
	for range 1000 {
		h.observeCall("open", time.Millisecond)
		if h.spend() {
			spent++
		}
	}
	if spent < 49 || spent > 50 {
		t.Errorf("%d of 1000 calls are sent twice, want a share of %v", spent, hedgeShare)
	}
	for range 1000 {
		h.observeCall("open", time.Millisecond)
	}
	for spent = 0; h.spend(); spent++ {
	}
	if spent != maxHedgeCredit {
		t.Errorf("%d calls in a row are sent twice, want %d", spent, maxHedgeCredit)
	}
}

// TestLateOpening opens sessions at a replica that answers probes and is slow: another one answers
// them, until the share of such calls is used up. The slow calls are canceled.
func TestLateOpening(t *testing.T) {
	corpus := newCorpus(t)
	first, second := startReplica(t, corpus), startReplica(t, corpus)
	f := startFront(t, first, second)
	second.age.Store(int64(time.Minute)) // all sessions begin at the first one
	f.awaitProbed(t, "the second one lags", func() bool { return f.shares[0].replicas[1].state.Age == time.Minute })
	for range 100 {
		f.hedger.observeCall("open", time.Millisecond)
		f.hedger.observeCall("refs", time.Millisecond)
	}
	want := printAnswer(t, corpus) + "[5]"
	first.slow.Store(true)
	sessions := 0
	for range 3 {
		if got := searchFront(t.Context(), t, f); got != want {
			t.Fatalf("a search while a replica is slow:\n%s\nwant\n%s", got, want)
		}
		snapshot, err := f.Snapshot(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if files, err := snapshot.Files(t.Context(), 1, "refs/heads/main", 10); err != nil || len(files) != 1 {
			t.Errorf("files while a replica is slow: %v, %v", files, err)
		}
		snapshot.Release()
		sessions += 2
	}
	if won := testutil.ToFloat64(f.metrics.hedges.WithLabelValues(hedgeWon)); won != float64(sessions) {
		t.Errorf("%v openings are won by the second replica, want %d", won, sessions)
	}
	first.slow.Store(false)
	f.hedger.credit = 0
	if got := searchFront(t.Context(), t, f); got != want {
		t.Errorf("a search after that: %s", got)
	}
	if won := testutil.ToFloat64(f.metrics.hedges.WithLabelValues(hedgeWon)); won != float64(sessions) {
		t.Errorf("without credit, %v openings are won by the second replica, want %d", won, sessions)
	}
}
