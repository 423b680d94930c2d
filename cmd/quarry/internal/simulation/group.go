package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// errReturned reports that a handle returned without an error before its context ended.
var errReturned = errors.New("the handle of a partition returned")

// Join implements eventlog.Log. Partition p belongs to member p mod n, in the order in
// which the members joined. It moves to a new owner once its holder has released it.
func (c *connection) Join(ctx context.Context, group string, topic event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	if err := errors.Join(c.checkOpen(topic), eventlog.CheckName(group)); err != nil {
		return err
	}
	k, m := groupKey{group, topic}, &member{revoke: map[int32]context.CancelFunc{}}
	c.l.addMember(k, m)
	defer c.l.removeMember(k, m)
	joined, end := context.WithCancelCause(ctx)
	defer end(nil)
	var handles, closing sync.WaitGroup
	for number := range c.l.countPartitions(topic) {
		handles.Go(func() {
			if err := c.holdPartition(joined, m, holderKey{k, number}, handle); err != nil {
				end(err)
			}
		})
	}
	closing.Go(func() {
		select {
		case <-c.closing:
			end(eventlog.ErrClosed)
		case <-joined.Done():
		}
	})
	handles.Wait()
	err := context.Cause(joined)
	end(nil)
	closing.Wait()
	return err
}

func (l *Log) addMember(k groupKey, m *member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.members[k] = append(l.mu.members[k], m)
	l.shareLocked(k)
}

func (l *Log) removeMember(k groupKey, m *member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.members[k] = slices.DeleteFunc(l.mu.members[k], func(o *member) bool { return o == m })
	l.shareLocked(k)
}

// shareLocked revokes the partitions that now belong to another member. It must be called
// with mu held.
func (l *Log) shareLocked(k groupKey) {
	for number := range l.countPartitions(k.topic) {
		if m := l.mu.holders[holderKey{k, number}]; m != nil && m != l.ownerLocked(holderKey{k, number}) {
			m.revoke[number]()
		}
	}
	l.announceLocked()
}

func (l *Log) announceLocked() {
	close(l.mu.changed)
	l.mu.changed = make(chan struct{})
}

// ownerLocked returns the member that owns a partition. It must be called with mu held.
func (l *Log) ownerLocked(k holderKey) *member {
	members := l.mu.members[k.groupKey]
	if len(members) == 0 {
		return nil
	}
	return members[int(k.partition)%len(members)]
}

// holdPartition calls handle for a partition while the member owns it, until ctx ends or
// handle returns before its context ended.
func (c *connection) holdPartition(ctx context.Context, m *member, k holderKey, handle func(context.Context, eventlog.Assignment) error) error {
	for ctx.Err() == nil {
		holding, changed := c.l.takePartition(ctx, m, k)
		if holding == nil {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		err := c.consumePartition(holding, k, handle)
		early := holding.Err() == nil
		c.l.releasePartition(m, k)
		if early && err == nil {
			err = errReturned
		}
		if early {
			return err
		}
	}
	return nil
}

// takePartition makes the member the holder of a partition if it owns the partition and
// no one holds it, and returns the context of the handle. Otherwise it returns a channel
// that is closed when that may have changed.
func (l *Log) takePartition(ctx context.Context, m *member, k holderKey) (context.Context, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.holders[k] != nil || l.ownerLocked(k) != m {
		return nil, l.mu.changed
	}
	holding, revoke := context.WithCancel(ctx)
	l.mu.holders[k], m.revoke[k.partition] = m, revoke
	return holding, nil
}

func (l *Log) releasePartition(m *member, k holderKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.revoke[k.partition]()
	delete(l.mu.holders, k)
	l.announceLocked()
}

func (c *connection) consumePartition(ctx context.Context, k holderKey, handle func(context.Context, eventlog.Assignment) error) error {
	d := c.s.awaitDecision(ctx, c.process, fmt.Sprintf("assign %s %s/%d", k.group, k.topic, k.partition))
	if d.err != nil {
		return d.err
	}
	c.l.mu.Lock()
	from := c.l.committedLocked(k.groupKey)[k.partition]
	c.l.mu.Unlock()
	r, err := c.newReader(fmt.Sprintf("consume %s %s/%d", k.group, k.topic, k.partition), k.topic, k.partition, from)
	if err != nil {
		return err
	}
	r.single = true
	a := &assignment{reader: r, key: k, began: from}
	defer a.markLost()
	return handle(ctx, a)
}

// assignment is a partition that a member holds.
type assignment struct {
	*reader
	key   holderKey
	began event.Offset
	mu    struct {
		sync.Mutex
		lost bool
	}
}

// Partition implements eventlog.Assignment.
func (a *assignment) Partition() int32 { return a.partition }

func (a *assignment) markLost() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.lost = true
}

// Commit implements eventlog.Assignment.
func (a *assignment) Commit(ctx context.Context, next event.Offset) error {
	d := a.c.s.awaitDecision(ctx, a.c.process, fmt.Sprintf("commit %s %s/%d at %d", a.key.group, a.key.topic, a.partition, next))
	switch {
	case d.err != nil:
		return d.err
	case d.verdict == Fail:
		return errors.New("the commit failed: a fault of the simulation")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.lost {
		return eventlog.ErrPartitionLost
	}
	if err := a.commitOffset(next); err != nil {
		return err
	}
	if d.verdict == LoseAnswer {
		return errAnswerLost
	}
	return nil
}

func (a *assignment) commitOffset(next event.Offset) error {
	a.c.l.mu.Lock()
	defer a.c.l.mu.Unlock()
	end := event.Offset(len(a.c.l.topicLocked(a.topic)[a.partition].records))
	if next < a.began || next > end {
		return fmt.Errorf("%w: want %d to %d", eventlog.ErrOffsetOutOfRange, a.began, end)
	}
	a.c.l.committedLocked(a.key.groupKey)[a.partition] = next
	return nil
}
