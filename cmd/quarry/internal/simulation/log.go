package simulation

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// errAnswerLost is the error of an operation that took effect but whose response was
// lost.
var errAnswerLost = errors.New("the connection to the log was lost before its answer")

// A Log outlives every process: it represents the brokers, or the embedded log on a disk
// that loses nothing. Open connects a process to it.
type Log struct {
	partitions int32
	mu         struct {
		sync.Mutex
		topics    map[event.Topic][]*partition
		committed map[groupKey][]event.Offset
		// members holds the members of each group, in the order in which they joined.
		members map[groupKey][]*member
		holders map[holderKey]*member
		// changed is closed and replaced when members or holders change.
		changed chan struct{}
	}
}

// partition holds the records of a partition. more is closed and replaced at an append.
type partition struct {
	records []event.Record
	more    chan struct{}
}

type groupKey struct {
	group string
	topic event.Topic
}

// holderKey identifies a partition within a group.
type holderKey struct {
	groupKey
	partition int32
}

// member is one call of Join. revoke ends each handle that it runs.
type member struct{ revoke map[int32]context.CancelFunc }

// NewLog returns an empty log.
func NewLog(partitions int32) *Log {
	l := &Log{partitions: partitions}
	l.mu.topics = map[event.Topic][]*partition{}
	l.mu.committed, l.mu.members = map[groupKey][]event.Offset{}, map[groupKey][]*member{}
	l.mu.holders, l.mu.changed = map[holderKey]*member{}, make(chan struct{})
	return l
}

// Records returns the records of a topic, partition by partition.
func (l *Log) Records(topic event.Topic) []event.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []event.Record
	for _, p := range l.mu.topics[topic] {
		all = append(all, p.records...)
	}
	return all
}

// Revoke takes a partition away from the member that holds it, as brokers do when they
// have lost contact with the member. The member gets the partition back.
func (l *Log) Revoke(group string, topic event.Topic, partition int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.mu.holders[holderKey{groupKey{group, topic}, partition}]; m != nil {
		m.revoke[partition]()
	}
}

// countPartitions returns the number of partitions of a topic.
func (l *Log) countPartitions(topic event.Topic) int32 {
	if topic.Single() {
		return 1
	}
	return l.partitions
}

func (l *Log) topicLocked(topic event.Topic) []*partition {
	t := l.mu.topics[topic]
	if t == nil {
		t = make([]*partition, l.countPartitions(topic))
		for i := range t {
			t[i] = &partition{more: make(chan struct{})}
		}
		l.mu.topics[topic] = t
	}
	return t
}

// committedLocked returns the committed offsets of a group for reading and writing. It
// must be called with mu held.
func (l *Log) committedLocked(k groupKey) []event.Offset {
	if l.mu.committed[k] == nil {
		l.mu.committed[k] = make([]event.Offset, l.countPartitions(k.topic))
	}
	return l.mu.committed[k]
}

// Open returns the log as a process sees it. Without a scheduler its operations happen
// immediately.
func (l *Log) Open(s *Scheduler, p *Process) eventlog.Log {
	return &connection{l: l, s: s, process: p, closing: make(chan struct{})}
}

// OpenToScan is Open, except that readers of Tail do not wait for the scheduler. It is
// for components that read partitions to their end concurrently, so that their reads
// cannot be distinguished.
func (l *Log) OpenToScan(s *Scheduler, p *Process) eventlog.Log {
	return &connection{l: l, s: s, process: p, closing: make(chan struct{}), readsAtOnce: true}
}

// connection is the connection of one process to the log.
type connection struct {
	l       *Log
	s       *Scheduler
	process *Process
	close   sync.Once
	closing chan struct{}
	// readsAtOnce is set if readers of Tail do not await the scheduler.
	readsAtOnce bool
}

var _ eventlog.Log = (*connection)(nil)

// checkOpen returns an error once the log was closed or the process killed.
func (c *connection) checkOpen(topic event.Topic) error {
	select {
	case <-c.closing:
		return eventlog.ErrClosed
	default:
	}
	if c.process != nil && c.process.Killed() {
		return ErrKilled
	}
	return eventlog.CheckName(string(topic))
}

// Partitions implements eventlog.Log.
func (c *connection) Partitions(_ context.Context, topic event.Topic) (int32, error) {
	return c.l.countPartitions(topic), c.checkOpen(topic)
}

// Append implements eventlog.Log. Fail means that the log is full.
func (c *connection) Append(ctx context.Context, topic event.Topic, to int32, records ...event.Record) ([]event.Position, error) {
	if err := errors.Join(c.checkOpen(topic), ctx.Err()); err != nil {
		return nil, err
	}
	for i := range records {
		if err := eventlog.CheckRecord(&records[i]); err != nil {
			return nil, err
		}
	}
	if err := eventlog.CheckPartition(to, c.l.countPartitions(topic), true); err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, nil
	}
	d := c.s.awaitDecision(ctx, c.process, fmt.Sprintf("append %s %s", topic, nameOf(records[0])))
	switch {
	case d.err != nil:
		return nil, d.err
	case d.verdict == Fail:
		return nil, fmt.Errorf("%w: a fault of the simulation", eventlog.ErrFull)
	}
	positions := c.l.appendRecords(topic, to, records)
	if d.verdict == LoseAnswer {
		return nil, errAnswerLost
	}
	return positions, nil
}

// nameOf returns a name for a record in the trace: its type and a hash of its content. It
// does not use the ID, which may be random.
func nameOf(rec event.Record) string {
	return fmt.Sprintf("%s %.8x", event.TypeOf(rec), sha256.Sum256(append(slices.Clone(rec.Key), rec.Value...)))
}

func (l *Log) appendRecords(topic event.Topic, to int32, records []event.Record) []event.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topicLocked(topic)
	positions := make([]event.Position, len(records))
	for i, rec := range records {
		number := to
		if number == eventlog.AnyPartition {
			number = eventlog.PartitionOf(rec.Key, int32(len(t)))
		}
		p := t[number]
		rec.Position = event.Position{Topic: topic, Partition: number, Offset: event.Offset(len(p.records))}
		rec.Time = time.Now().UTC().Truncate(time.Millisecond)
		positions[i] = rec.Position
		p.records = append(p.records, rec)
		close(p.more)
		p.more = make(chan struct{})
	}
	return positions
}

// HighWater implements eventlog.Log.
func (c *connection) HighWater(_ context.Context, topic event.Topic) ([]event.Offset, error) {
	if err := c.checkOpen(topic); err != nil {
		return nil, err
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	t := c.l.topicLocked(topic)
	high := make([]event.Offset, len(t))
	for i, p := range t {
		high[i] = event.Offset(len(p.records))
	}
	return high, nil
}

// Committed implements eventlog.Log.
func (c *connection) Committed(_ context.Context, group string, topic event.Topic) ([]event.Offset, error) {
	if err := errors.Join(c.checkOpen(topic), eventlog.CheckName(group)); err != nil {
		return nil, err
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	return slices.Clone(c.l.committedLocked(groupKey{group, topic})), nil
}

// Note implements eventlog.Log.
func (c *connection) Note(_ context.Context, group string, topic event.Topic, offsets []event.Offset) error {
	err := errors.Join(c.checkOpen(topic), eventlog.CheckName(group), eventlog.CheckOffsets(offsets, c.l.countPartitions(topic)))
	if err != nil {
		return err
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	k := groupKey{group, topic}
	if len(c.l.mu.members[k]) > 0 {
		return eventlog.ErrGroupInUse
	}
	copy(c.l.committedLocked(k), offsets)
	return nil
}

// Close implements eventlog.Log.
func (c *connection) Close() error {
	c.close.Do(func() { close(c.closing) })
	return nil
}
