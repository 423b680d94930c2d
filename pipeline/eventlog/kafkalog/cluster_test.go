package kafkalog_test

import (
	"errors"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/event"
)

var everyFault = flag.Bool("faults", false, "run the faults that take long, too")

// TestThreeBrokers tests the contract, and failures that need several brokers, on three
// brokers with three replicas of everything.
func TestThreeBrokers(t *testing.T) {
	if testing.Short() {
		t.Skip("three brokers: takes over a minute, not with -short")
	}
	c := kafkatest.StartCluster(t, 3)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *kafkatest.Cluster)
	}{
		{"Conformance", func(t *testing.T, c *kafkatest.Cluster) { conformance(t, c) }},
		{"BusyRebalance", busyRebalance},
		{"LeaderKilled", leaderKilled},
		{"RollingRestart", rollingRestart},
		{"TwoAway", twoAway},
	} {
		t.Run(test.name, func(t *testing.T) {
			began := time.Now()
			test.run(t, c)
			t.Logf("took %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

// busyRebalance makes members join and leave while records arrive. It would detect
// kafka-go's issues 1398 (records of a revoked partition), 1308 and 1330 (a partition
// stuck with lag after a commit for a past generation).
func busyRebalance(t *testing.T, c *kafkatest.Cluster) {
	f := startTraffic(t, c, "rebalance", 6)
	var leave []func()
	for range 3 {
		leave = append(leave, f.joinGroup())
		f.awaitMore(100)
	}
	for range 3 {
		leave[0]()
		f.awaitMore(100)
		leave = append(leave[1:], f.joinGroup())
		f.awaitMore(100)
	}
	// Two at the same time.
	leave[0]()
	leave[1]()
	f.awaitMore(100)
	f.finishTraffic()
	leave[2]()
	wantCommitted(f)
}

// wantCommitted expects the group to have committed everything, because its members left
// without unfinished records.
func wantCommitted(f *traffic) {
	f.t.Helper()
	ends, err := f.log.HighWater(f.ctx, f.topic)
	if err != nil {
		f.t.Fatal(err)
	}
	committed, err := f.log.Committed(f.ctx, trafficGroup+"-"+string(f.topic), f.topic)
	if err != nil {
		f.t.Fatal(err)
	}
	if !slices.Equal(committed, ends) {
		f.t.Errorf("the group has committed %v, the log ends at %v", committed, ends)
	}
}

// leaderKilled kills a broker that leads partitions, during appends and group reads.
func leaderKilled(t *testing.T, c *kafkatest.Cluster) {
	f := startTraffic(t, c, "leader-killed", 3)
	leave := []func(){f.joinGroup(), f.joinGroup()}
	f.awaitMore(100)
	leader := c.Leader(f.topic, 0)
	began := time.Now()
	c.Kill(leader)
	f.mu.Lock()
	next := f.mu.next[0]
	f.mu.Unlock()
	f.await("the partition of the leader goes on", func() bool { return f.mu.next[0] > next+100 })
	t.Logf("a hundred records of its partition were read %v after the leader was killed", time.Since(began).Round(time.Millisecond))
	c.Restart(leader)
	c.AwaitInSync(f.topic)
	f.awaitMore(100)
	f.finishTraffic()
	for _, leave := range leave {
		leave()
	}
	wantCommitted(f)
}

// rollingRestart restarts each broker in turn, as an upgrade does, under a busy group.
func rollingRestart(t *testing.T, c *kafkatest.Cluster) {
	if !*everyFault {
		t.Skip("rolling restart: takes 45 s, only with -faults")
	}
	f := startTraffic(t, c, "rolling", 3)
	leave := []func(){f.joinGroup(), f.joinGroup(), f.joinGroup()}
	f.awaitMore(100)
	for i := range 3 {
		c.Stop(i)
		f.awaitMore(100)
		c.Restart(i)
		c.AwaitInSync(f.topic)
	}
	f.awaitMore(100)
	f.finishTraffic()
	for _, leave := range leave {
		leave()
	}
	wantCommitted(f)
}

// twoAway leaves one broker of three running: appends that need two brokers are refused
// (TestAppendIsBounded has the time). Then no broker runs, and acknowledged records are still
// there when all are back.
func twoAway(t *testing.T, c *kafkatest.Cluster) {
	const topic = event.Topic("two-away")
	l := mustOpen(t, kafkalog.Options{Brokers: c.Addresses, AppendTimeout: 2 * time.Second})
	spec := kafkalog.TopicSpec{Topic: topic, Partitions: 1, Replication: 3}
	if err := l.EnsureTopics(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	c.AwaitInSync(topic)
	wantDeviations(t, l, spec)
	again := 0 // a refused record may be in the log all the same
	for _, text := range []string{"a", "b", "c"} {
		again += mustAppend(clocktest.NewContext(t), t, l, topic, text)
	}
	alone := kafkalog.TopicSpec{Topic: "two-away-alone", Partitions: 3, Replication: 1}
	if err := l.EnsureTopics(t.Context(), alone); err != nil {
		t.Fatal(err)
	}
	last := c.Leader(topic, 0) // it keeps running
	away := slices.DeleteFunc([]int{0, 1, 2}, func(i int) bool { return i == last })
	c.Kill(away...)
	for range 3 {
		if _, err := l.Append(clocktest.NewContext(t), topic, 0, textRecord("refused")); !errors.Is(err, eventlog.ErrFull) {
			t.Errorf("Append with two brokers away: %v, want %v", err, eventlog.ErrFull)
		}
	}
	wantDescribed(t, l, alone)
	c.Kill(last)
	for i := range c.Size() {
		if c.Running(i) {
			t.Errorf("node %d runs", i)
		}
	}
	c.Restart(0, 1, 2)
	c.AwaitInSync(topic)
	again += mustAppend(clocktest.NewContext(t), t, l, topic, "d")
	got := readTexts(t, l, topic, 0)
	t.Logf("the log has %q", got)
	kept := slices.Compact(slices.DeleteFunc(slices.Clone(got), func(text string) bool { return text == "refused" }))
	if !slices.Equal(kept, []string{"a", "b", "c", "d"}) {
		t.Errorf("the log has %q, want a, b, c, d and perhaps what was refused", got)
	}
	if len(got) > 4+3+again {
		t.Errorf("%d refused records are there %d times", 3+again, len(got)-4)
	}
}

// wantDescribed expects a description of a topic without its offsets, although brokers
// that hold partitions of it are down.
func wantDescribed(t *testing.T, l *kafkalog.Log, spec kafkalog.TopicSpec) {
	t.Helper()
	state, err := l.Describe(t.Context(), spec.Topic)
	if err != nil {
		t.Error(err)
		return
	}
	t.Logf("described as %+v", state)
	if len(state.Partitions) != int(spec.Partitions) || state.Partitions[0].Next != kafkalog.UnknownOffset || len(state.Settings) == 0 {
		t.Errorf("described as %+v, want %d partitions without offsets, and settings", state, spec.Partitions)
	}
}
