package kafkatest_test

import (
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/event"
)

const topic = event.Topic("kept")

// TestCluster checks that three nodes keep a record while all of them restart. It uses
// secure nodes; kafkalog's tests use plain ones, and kill leaders.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("three brokers: takes 20 s, not with -short")
	}
	began := time.Now()
	c := kafkatest.StartSecureCluster(t, 3, "quarry", "horse")
	t.Logf("ready after %v", time.Since(began).Round(time.Millisecond))
	l, err := kafkalog.Open(t.Context(), kafkalog.Options{Brokers: c.Addresses, SASL: c.SASL, TLS: c.TLS, AppendTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: topic, Partitions: 1, Replication: 3}); err != nil {
		t.Fatal(err)
	}
	c.AwaitInSync(topic)
	mustAppend(t, l)
	c.Stop(0, 1, 2)
	for i := range 3 {
		if c.Running(i) {
			t.Errorf("node %d runs", i)
		}
	}
	c.Restart(0, 1, 2)
	c.AwaitInSync(topic)
	mustAppend(t, l)
	if marks, err := l.HighWater(t.Context(), topic); err != nil || marks[0] != 2 {
		t.Errorf("high-water marks %v, want [2]: %v", marks, err)
	}
	if leader := c.Leader(topic, 0); !c.Running(leader) {
		t.Errorf("node %d leads and does not run", leader)
	}
}

func mustAppend(t *testing.T, l *kafkalog.Log) {
	t.Helper()
	if _, err := l.Append(t.Context(), topic, 0, event.Record{Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
}
