package kafkalog_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// longSession is the session timeout of members that must not have to wait for its end:
// the longest that brokers allow, so that such a wait lasts until the tests have to end.
const longSession = 30 * time.Minute

// network tracks the connections of a process, and can cut them as kill -9 does: the
// brokers are not notified.
type network struct {
	mu struct {
		sync.Mutex
		open []net.Conn
		dead bool
	}
}

func (n *network) wrap(conn net.Conn) net.Conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.open = append(n.mu.open, conn)
	if n.mu.dead {
		conn.Close()
	}
	return conn
}

func (n *network) closeAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.dead = true
	for _, conn := range n.mu.open {
		conn.Close()
	}
}

// groupMember is a process that joins a group and reports its partitions.
type groupMember struct {
	network
	got chan int32
}

func joinGroup(t *testing.T, c *kafkatest.Cluster, topic event.Topic, instance string) *groupMember {
	t.Helper()
	m := &groupMember{got: make(chan int32, 100)}
	l := mustOpen(t, kafkalog.Options{Brokers: c.Addresses, Instance: instance, SessionTimeout: longSession, AppendTimeout: time.Second}.Wrapped(m.wrap))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = l.Join(ctx, "members-of-"+string(topic), topic, func(ctx context.Context, a eventlog.Assignment) error {
			for {
				m.got <- a.Partition()
				if _, err := a.Next(ctx); err != nil {
					return nil
				}
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-left })
	return m
}

// awaitPartition waits until the member has got a partition, or a record of one.
func (m *groupMember) awaitPartition(t *testing.T, what string) int32 {
	t.Helper()
	select {
	case p := <-m.got:
		return p
	case <-clocktest.NewContext(t).Done():
		t.Fatalf("%s: not until the tests have to end, in a session of %v", what, longSession)
		return 0
	}
}

// restartedMember restarts a process that was killed: it gets its partition immediately,
// although its old session has not expired.
func restartedMember(t *testing.T, c *kafkatest.Cluster) {
	const topic = event.Topic("restarted-member")
	makeTopic(t, c, topic, 1)
	first := joinGroup(t, c, topic, "worker-1")
	first.awaitPartition(t, "the first process has the partition")
	first.closeAll()
	began := time.Now()
	joinGroup(t, c, topic, "worker-1").awaitPartition(t, "the process that was started again has the partition")
	t.Logf("a process that died had its partition again after %v", time.Since(began).Round(time.Millisecond))
}

// refusedSession joins with a session timeout that is too short for the brokers: the
// error of Join names the settings that limit it.
func refusedSession(t *testing.T, c *kafkatest.Cluster) {
	const topic = event.Topic("refused-session")
	makeTopic(t, c, topic, 1)
	l := mustOpen(t, kafkalog.Options{Brokers: c.Addresses, SessionTimeout: time.Second})
	err := l.Join(clocktest.NewContext(t), "short", topic, func(context.Context, eventlog.Assignment) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "group.min.session.timeout.ms") {
		t.Errorf("Join: %v, want an error that names group.min.session.timeout.ms", err)
	}
}

// twoOfOneName runs two processes with the same name, as after copying a data directory:
// each ends up with a part of the partitions.
func twoOfOneName(t *testing.T, c *kafkatest.Cluster) {
	const topic = event.Topic("two-of-one-name")
	makeTopic(t, c, topic, 2)
	first := joinGroup(t, c, topic, "copied")
	seen := map[int32]bool{first.awaitPartition(t, "the first process has a partition"): true, first.awaitPartition(t, "the first process has both"): true}
	if len(seen) != 2 {
		t.Fatalf("the first process has %v, want both partitions", seen)
	}
	second := joinGroup(t, c, topic, "copied")
	second.awaitPartition(t, "the second process has a partition")
	if kept := first.awaitPartition(t, "the first process has one again"); !seen[kept] {
		t.Errorf("the first process has partition %d", kept)
	}
}

// killedCoordinator kills the only broker: when it is back, the group still knows the
// member, which continues.
func killedCoordinator(t *testing.T, broker *kafkatest.Broker) {
	if testing.Short() {
		t.Skip("killed coordinator: takes 20 s, not with -short")
	}
	const topic = event.Topic("killed-coordinator")
	makeTopic(t, broker.Cluster, topic, 1)
	l := mustOpen(t, kafkalog.Options{Brokers: broker.Addresses})
	m := joinGroup(t, broker.Cluster, topic, "")
	m.awaitPartition(t, "the member has the partition")
	broker.Kill()
	broker.Restart()
	began := time.Now()
	mustAppend(clocktest.NewContext(t), t, l, topic, "after")
	m.awaitPartition(t, "the member reads on")
	t.Logf("a member read on %v after its coordinator was back", time.Since(began).Round(time.Millisecond))
}

func makeTopic(t *testing.T, c *kafkatest.Cluster, topic event.Topic, partitions int32) {
	t.Helper()
	l := mustOpen(t, kafkalog.Options{Brokers: c.Addresses})
	if err := l.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: topic, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
}
