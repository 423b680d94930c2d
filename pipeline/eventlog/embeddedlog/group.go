package embeddedlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// groupID names a consumer group on a topic.
type groupID struct {
	group string
	topic event.Topic
}

// group distributes the partitions of a topic among its members. Partition p belongs to
// member p mod n, in order of joining. A partition moves only after its holder has
// released it.
type group struct {
	mu struct {
		sync.Mutex
		members []*member
		holders []*member // by partition, nil if free
		// changed is closed and replaced when members or holders change.
		changed chan struct{}
	}
}

// member is the state of one call of Join.
type member struct {
	log    *Log
	id     groupID
	group  *group
	handle func(context.Context, eventlog.Assignment) error
	// held is used only by the goroutine of Join.
	held map[int32]context.CancelFunc
	// ended receives the number of each partition whose handle returned; it has capacity
	// for all of them, so that no send blocks.
	ended   chan handleEnd
	running sync.WaitGroup
}

// handleEnd reports that a handle returned. early is set if its context had not ended.
type handleEnd struct {
	partition int32
	early     bool
	err       error
}

// Join implements eventlog.Log.
func (l *Log) Join(ctx context.Context, name string, topic event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	if err := eventlog.CheckName(name); err != nil {
		return fmt.Errorf("join group: %w", err)
	}
	if _, err := l.ensureTopic(topic); err != nil {
		return fmt.Errorf("join group %s on %s: %w", name, topic, err)
	}
	id := groupID{name, topic}
	m := &member{
		log: l, id: id, handle: handle,
		held:  make(map[int32]context.CancelFunc),
		ended: make(chan handleEnd, l.partitionsOf(topic)),
	}
	m.joinGroup()
	defer m.leaveGroup()
	if err := m.run(ctx); err != nil {
		return fmt.Errorf("group %s on %s: %w", name, topic, err)
	}
	return nil
}

// joinGroup adds the member to its group, and creates the group if necessary.
func (m *member) joinGroup() {
	m.log.mu.Lock()
	defer m.log.mu.Unlock()
	g := m.log.mu.groups[m.id]
	if g == nil {
		g = &group{}
		g.mu.holders = make([]*member, m.log.partitionsOf(m.id.topic))
		g.mu.changed = make(chan struct{})
		m.log.mu.groups[m.id] = g
	}
	m.group = g
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.members = append(g.mu.members, m)
	g.broadcastLocked()
}

// leaveGroup removes the member, and the group after its last member.
func (m *member) leaveGroup() {
	m.log.mu.Lock()
	defer m.log.mu.Unlock()
	g := m.group
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.mu.members, m)
	g.mu.members = slices.Delete(g.mu.members, i, i+1)
	if len(g.mu.members) == 0 {
		delete(m.log.mu.groups, m.id)
	}
	g.broadcastLocked()
}

func (g *group) broadcastLocked() {
	close(g.mu.changed)
	g.mu.changed = make(chan struct{})
}

// run holds the member's share of the partitions until ctx ends. It returns after every
// handle has returned and its partitions are released.
func (m *member) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer m.drainHandles(cancel)
	for {
		changed := m.rebalanceShare(ctx)
		select {
		case <-changed:
		case end := <-m.ended:
			m.releasePartition(end.partition)
			if end.early {
				return end.err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-m.log.closing:
			return eventlog.ErrClosed
		}
	}
}

// drainHandles cancels the handles and releases the partition of each as it returns.
func (m *member) drainHandles(cancel context.CancelFunc) {
	cancel()
	for len(m.held) > 0 {
		m.releasePartition((<-m.ended).partition)
	}
	m.running.Wait()
}

// rebalanceShare takes the free partitions of the member's share and revokes those that
// are no longer in it. It returns a channel that is closed at the next change of the
// group.
func (m *member) rebalanceShare(ctx context.Context) <-chan struct{} {
	g := m.group
	g.mu.Lock()
	defer g.mu.Unlock()
	index, n := slices.Index(g.mu.members, m), len(g.mu.members)
	for p, holder := range g.mu.holders {
		switch mine := p%n == index; {
		case mine && holder == nil:
			g.mu.holders[p] = m
			m.start(ctx, int32(p))
		case !mine && holder == m:
			m.held[int32(p)]()
		}
	}
	return g.mu.changed
}

// start runs the handle of a partition in its own goroutine.
func (m *member) start(ctx context.Context, partition int32) {
	ctx, cancel := context.WithCancel(ctx)
	m.held[partition] = cancel
	m.running.Go(func() {
		err := m.consumePartition(ctx, partition)
		m.ended <- handleEnd{partition, ctx.Err() == nil, err}
	})
}

// releasePartition makes a partition available to other members.
func (m *member) releasePartition(partition int32) {
	m.held[partition]()
	delete(m.held, partition)
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	m.group.mu.holders[partition] = nil
	m.group.broadcastLocked()
}

// consumePartition reads a partition from its committed offset.
func (m *member) consumePartition(ctx context.Context, partition int32) error {
	from, err := m.log.committedOffset(m.id, partition)
	if err != nil {
		return err
	}
	r, err := m.log.openReader(m.id.topic, partition, from, true)
	if err != nil {
		return fmt.Errorf("read %s/%d from the committed offset %d: %w", m.id.topic, partition, from, err)
	}
	a := &assignment{reader: r, id: m.id, began: r.next}
	defer a.markLost()
	defer r.Close()
	return m.handle(ctx, a)
}

// assignment is a partition held by a member. It implements eventlog.Assignment.
type assignment struct {
	*reader
	id    groupID
	began event.Offset
	mu    struct {
		sync.Mutex
		lost bool
	}
}

// Partition implements eventlog.Assignment.
func (a *assignment) Partition() int32 { return a.partition.number }

// markLost makes later commits fail, because the handle has returned.
func (a *assignment) markLost() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.lost = true
}

// Commit implements eventlog.Assignment. It costs one disk sync, which Pebble shares with
// appends; ctx cannot interrupt it.
func (a *assignment) Commit(_ context.Context, next event.Offset) error {
	if err := a.commit(next); err != nil {
		return fmt.Errorf("commit %s/%d at %d for group %s: %w", a.id.topic, a.Partition(), next, a.id.group, err)
	}
	return nil
}

func (a *assignment) commit(next event.Offset) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.lost {
		return eventlog.ErrPartitionLost
	}
	if end, _ := a.reader.partition.endOffset(); next < a.began || next > end {
		return fmt.Errorf("%w: want %d to %d", eventlog.ErrOffsetOutOfRange, a.began, end)
	}
	release, err := a.log.acquireDB()
	if err != nil {
		return err
	}
	defer release()
	value := binary.BigEndian.AppendUint64(nil, uint64(next))
	return a.log.db.Set(groupKey(a.id.topic, a.id.group, a.Partition()), value, pebble.Sync)
}

// Committed implements eventlog.Log.
func (l *Log) Committed(_ context.Context, name string, topic event.Topic) ([]event.Offset, error) {
	if err := errors.Join(eventlog.CheckName(name), eventlog.CheckName(string(topic))); err != nil {
		return nil, fmt.Errorf("committed offsets: %w", err)
	}
	offsets := make([]event.Offset, l.partitionsOf(topic))
	for p := range offsets {
		offset, err := l.committedOffset(groupID{name, topic}, int32(p))
		if err != nil {
			return nil, fmt.Errorf("committed offsets of group %s on %s: %w", name, topic, err)
		}
		offsets[p] = offset
	}
	return offsets, nil
}

func (l *Log) committedOffset(id groupID, partition int32) (event.Offset, error) {
	release, err := l.acquireDB()
	if err != nil {
		return 0, err
	}
	defer release()
	return l.loadOffset(groupKey(id.topic, id.group, partition))
}

// loadOffset returns a stored offset, or 0 if there is none. The caller must keep db
// open.
func (l *Log) loadOffset(key []byte) (event.Offset, error) {
	value, closer, err := l.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: offset %q of %d bytes", errCorrupt, key, len(value))
	}
	return event.Offset(binary.BigEndian.Uint64(value)), nil
}
