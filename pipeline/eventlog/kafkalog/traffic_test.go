package kafkalog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// traffic appends numbered records with several keys to a topic, with one writer per key,
// while members of a group read it, and checks both against the contract.
type traffic struct {
	t          *testing.T
	cluster    *kafkatest.Cluster
	topic      event.Topic
	log        *kafkalog.Log
	ctx        context.Context
	stop       context.CancelFunc // of the writers
	writers    sync.WaitGroup
	partitions int32

	mu struct {
		sync.Mutex
		changed  chan struct{}
		acked    map[event.Position]string
		repeated map[string]bool // appended again by the writer after an error
		next     []event.Offset  // by partition: the next offset that the group has not seen
		commits  []event.Offset  // by partition: the highest acknowledged commit
		reads    int
	}
}

// trafficKeys is the number of writers. Their keys cover all partitions.
const trafficKeys = 6

// startTraffic creates a topic and starts the writers. They retry refused appends, as the
// sender of a webhook does.
func startTraffic(t *testing.T, c *kafkatest.Cluster, topic event.Topic, partitions int32) *traffic {
	t.Helper()
	ctx := clocktest.NewContext(t)
	f := &traffic{t: t, cluster: c, topic: topic, partitions: partitions, ctx: ctx}
	f.log = f.open()
	if err := f.log.EnsureTopics(ctx, kafkalog.TopicSpec{Topic: topic, Partitions: partitions, Replication: 3}); err != nil {
		t.Fatal(err)
	}
	f.mu.changed = make(chan struct{})
	f.mu.acked = map[event.Position]string{}
	f.mu.repeated = map[string]bool{}
	f.mu.next, f.mu.commits = make([]event.Offset, partitions), make([]event.Offset, partitions)
	writing, stop := context.WithCancel(ctx)
	f.stop = stop
	t.Cleanup(f.writers.Wait)
	t.Cleanup(stop)
	for key := range trafficKeys {
		f.writers.Go(func() { f.write(writing, fmt.Sprint("key", key)) })
	}
	return f
}

// open returns a separate log, as in another process.
func (f *traffic) open() *kafkalog.Log {
	f.t.Helper()
	return mustOpen(f.t, kafkalog.Options{
		Brokers: f.cluster.Addresses, AppendTimeout: 2 * time.Second, SessionTimeout: 6 * time.Second, RebalanceTimeout: 10 * time.Second,
	})
}

func (f *traffic) write(writing context.Context, key string) {
	for i := 0; writing.Err() == nil; i++ {
		text := key + ":" + strconv.Itoa(i)
		for {
			positions, err := f.log.Append(f.ctx, f.topic, eventlog.AnyPartition, event.Record{Key: []byte(key), Value: []byte(text)})
			if err == nil {
				f.updateState(func() { f.mu.acked[positions[0]] = text })
				break
			}
			if !errors.Is(err, eventlog.ErrFull) {
				f.t.Errorf("append of %s: %v", text, err)
				return
			}
			f.updateState(func() { f.mu.repeated[text] = true })
		}
	}
}

// updateState changes the state and wakes the waiting goroutines.
func (f *traffic) updateState(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	close(f.mu.changed)
	f.mu.changed = make(chan struct{})
}

// await returns when done, which is called with the lock held, returns true.
func (f *traffic) await(what string, done func() bool) {
	f.t.Helper()
	for {
		f.mu.Lock()
		ok, changed := done(), f.mu.changed
		f.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-f.ctx.Done():
			f.t.Fatalf("%s: not until the tests have to end", what)
		}
	}
}

// awaitMore returns when n more records are acknowledged and n more are read.
func (f *traffic) awaitMore(n int) {
	f.t.Helper()
	f.mu.Lock()
	acked, reads := len(f.mu.acked)+n, f.mu.reads+n
	f.mu.Unlock()
	f.await("more records", func() bool { return len(f.mu.acked) >= acked && f.mu.reads >= reads })
}

// trafficGroup is the group that reads the topic.
const trafficGroup = "readers"

// joinGroup joins the group until leave is called.
func (f *traffic) joinGroup() (leave func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.ctx)
	log := f.open()
	left := make(chan error, 1)
	go func() { left <- log.Join(ctx, trafficGroup+"-"+string(f.topic), f.topic, f.read) }()
	return func() {
		f.t.Helper()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			f.t.Errorf("member: %v, want context.Canceled", err)
		}
	}
}

// commitEvery is the number of records that a member handles between commits.
const commitEvery = 10

// read handles a partition as a worker does: records finished when the partition is
// revoked may still be committed.
func (f *traffic) read(ctx context.Context, a eventlog.Assignment) error {
	commit := func(next event.Offset) {
		if a.Commit(f.ctx, next) == nil {
			f.updateState(func() { f.mu.commits[a.Partition()] = max(f.mu.commits[a.Partition()], next) })
		}
	}
	last := event.Offset(-1)
	for {
		rec, err := a.Next(ctx)
		if err != nil {
			if last >= 0 { // otherwise no record of this assignment is finished
				commit(last + 1)
			}
			return nil
		}
		if rec.Position.Offset <= last {
			f.t.Errorf("%s after offset %d in one assignment", rec.Position, last)
		}
		last = rec.Position.Offset
		f.updateState(func() { f.checkRead(rec) })
		if last%commitEvery == 0 {
			commit(last + 1)
		}
	}
}

// checkRead compares a record with the ones read before.
func (f *traffic) checkRead(rec event.Record) {
	p, offset := rec.Position.Partition, rec.Position.Offset
	f.mu.reads++
	if offset < f.mu.commits[p] {
		f.t.Errorf("%s is read again, though committed below %d", rec.Position, f.mu.commits[p])
	}
	if offset > f.mu.next[p] {
		f.t.Errorf("%s is read before offset %d: records are left out", rec.Position, f.mu.next[p])
	}
	f.mu.next[p] = max(f.mu.next[p], offset+1)
}

// finishTraffic stops the writers, waits until the group has read and committed
// everything, and compares the log with the acknowledged records.
func (f *traffic) finishTraffic() {
	f.t.Helper()
	f.stop()
	f.writers.Wait()
	ends, err := f.log.HighWater(f.ctx, f.topic)
	if err != nil {
		f.t.Fatal(err)
	}
	f.await("group at the end", func() bool { return slices.Equal(f.mu.next, ends) })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.compareLog()
	sum := event.Offset(0)
	for _, end := range ends {
		sum += end
	}
	f.t.Logf("%d records acknowledged, %d of them after a refusal; the log has %d, the group read %d", len(f.mu.acked), len(f.mu.repeated), sum, f.mu.reads)
}

// compareLog reads the log: each acknowledged record is exactly at its acknowledged
// position, except that writers may have repeated some; keys are in order.
func (f *traffic) compareLog() {
	f.t.Helper()
	missing := len(f.mu.acked)
	numbers := map[string]int{} // next number by key
	for p := range f.partitions {
		seen := map[string]bool{}
		for offset, text := range readTexts(f.t, f.log, f.topic, p) {
			if want, ok := f.mu.acked[event.Position{Topic: f.topic, Partition: p, Offset: event.Offset(offset)}]; ok {
				missing--
				if want != text {
					f.t.Errorf("%s at %d/%d, acknowledged %s there", text, p, offset, want)
				}
			}
			if seen[text] {
				if !f.mu.repeated[text] {
					f.t.Errorf("%s is there twice, and was appended once", text)
				}
				continue
			}
			seen[text] = true
			key, number, _ := strings.Cut(text, ":")
			if number != strconv.Itoa(numbers[key]) {
				f.t.Errorf("%s at %d/%d, want number %d", text, p, offset, numbers[key])
			}
			numbers[key]++
		}
	}
	if missing != 0 {
		f.t.Errorf("%d acknowledged records are not where the answer said", missing)
	}
}
