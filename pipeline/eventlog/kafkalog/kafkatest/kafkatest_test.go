package kafkatest_test

import (
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/event"
)

const topic = event.Topic("kept")

// TestCluster has three nodes keep a record through the end of the one that
// leads and then of all. They are secure ones: that is all of the plain ones and
// more, which kafkalog's tests use.
func TestCluster(t *testing.T) {
	began := time.Now()
	c := kafkatest.StartSecureCluster(t, 3, "quarry", "horse")
	t.Logf("ready after %v", time.Since(began).Round(time.Millisecond))
	l, err := kafkalog.Open(t.Context(), kafkalog.Options{Brokers: c.Addresses, SASL: c.SASL, TLS: c.TLS, AppendTimeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: topic, Partitions: 1, Replication: 3}); err != nil {
		t.Fatal(err)
	}
	c.AwaitInSync(topic)
	mustAppend(t, l)
	first := c.Leader(topic, 0)
	began = time.Now()
	c.Kill(first)
	mustAppend(t, l)
	t.Logf("appends again %v after the leader was killed", time.Since(began).Round(time.Millisecond))
	if now := c.Leader(topic, 0); now == first || c.Running(first) {
		t.Errorf("leader %d, killed %d, which runs: %t", now, first, c.Running(first))
	}
	c.Restart(first)
	c.AwaitInSync(topic)
	c.Stop(0, 1, 2)
	c.Restart(0, 1, 2)
	c.AwaitInSync(topic)
	if marks, err := l.HighWater(t.Context(), topic); err != nil || marks[0] != 2 {
		t.Errorf("high-water marks %v, want [2]: %v", marks, err)
	}
}

func mustAppend(t *testing.T, l *kafkalog.Log) {
	t.Helper()
	if _, err := l.Append(t.Context(), topic, 0, event.Record{Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
}
