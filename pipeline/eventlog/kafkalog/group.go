package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
)

// Join implements eventlog.Log. While brokers are down, it waits for them.
func (l *Log) Join(ctx context.Context, group string, topic event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	if err := l.joinGroup(ctx, group, topic, handle); err != nil {
		return fmt.Errorf("group %s on %s: %w", group, topic, err)
	}
	return nil
}

func (l *Log) joinGroup(ctx context.Context, group string, topic event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	if err := eventlog.CheckName(group); err != nil {
		return err
	}
	if l.isClosed() {
		return eventlog.ErrClosed
	}
	// If the topic did not exist, the members would silently get no partitions.
	n, err := l.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	instance, release := l.takeInstance(group)
	defer release()
	m := newMember(l, group, topic, n, instance)
	defer m.close()
	ctx, cancel := l.untilClosed(ctx)
	defer cancel()
	return endReason(ctx, run(ctx, m, handle))
}

// takeInstance returns Options.Instance for the first member of a group in this process,
// and an empty name for others: two members with the same name would take the partitions
// from each other.
func (l *Log) takeInstance(group string) (instance string, release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opts.Instance == "" || l.mu.instances[group] {
		return "", func() {}
	}
	l.mu.instances[group] = true
	return l.opts.Instance, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.mu.instances, group)
	}
}

// run takes part in one generation after another until ctx ends or a handle returns
// early.
func run(ctx context.Context, m *member, handle func(context.Context, eventlog.Assignment) error) error {
	for {
		owned, err := m.joinGeneration(ctx)
		if err != nil {
			return err
		}
		m.log.metrics.generations.Inc()
		g := newGeneration(m, handle)
		if over, err := g.run(ctx, owned); over {
			return err
		}
	}
}

// generation is the period in which a member holds its partitions.
type generation struct {
	member   *member
	identity identity
	handle   func(context.Context, eventlog.Assignment) error
	running  sync.WaitGroup // handles
	// returned receives the result of the first handle that returned early.
	returned chan error
}

func newGeneration(m *member, handle func(context.Context, eventlog.Assignment) error) *generation {
	return &generation{member: m, identity: m.identity, handle: handle, returned: make(chan error, 1)}
}

// run runs a handle for each partition until the generation ends, and returns when all
// handles have returned. over reports that the member must leave the group: ctx has
// ended, a handle returned early, or the brokers refuse the member.
//
// Heartbeats continue to the end, because handles that finish their running work may take
// longer than the session timeout.
func (g *generation) run(ctx context.Context, owned []ownedPartition) (over bool, err error) {
	handling, end := context.WithCancel(ctx)
	defer end()
	for _, p := range owned {
		g.running.Go(func() { g.runHandle(handling, p) })
	}
	finished := make(chan struct{})
	go func() {
		<-handling.Done()
		g.running.Wait()
		close(finished)
	}()
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	confirmed := time.Now()
	for {
		select {
		case <-finished:
			if !over {
				err = ctx.Err()
			}
			return over || err != nil, err
		case err = <-g.returned:
			over = true
			end()
		case <-tick.C:
			sent := time.Now()
			switch beatErr := g.member.sendHeartbeat(context.WithoutCancel(ctx)); {
			case beatErr == nil:
				confirmed = sent
			case errors.Is(classifyError(beatErr), ErrRefused):
				over, err = true, classifyError(beatErr)
				end()
			// The partitions are not reassigned before the session expires; if the
			// coordinator has only moved, the session timeout has not even started.
			case !membershipEnded(beatErr) && time.Since(confirmed) < g.member.log.opts.SessionTimeout:
				g.member.log.metrics.retries.WithLabelValues(operationGroup).Inc()
			default:
				end()
			}
		}
	}
}

// runHandle runs the handle of a partition until ctx ends.
func (g *generation) runHandle(ctx context.Context, p ownedPartition) {
	err := g.consumePartition(ctx, p)
	if ctx.Err() != nil {
		return
	}
	select {
	case g.returned <- err:
	default: // another handle was first
	}
}

// consumePartition reads a partition from its committed offset.
func (g *generation) consumePartition(ctx context.Context, p ownedPartition) error {
	l := g.member.log
	id := partitionID{g.member.topic, p.number}
	release, err := l.holdPartition(ctx, heldPartition{g.member.group, id})
	if err != nil {
		return err
	}
	defer release()
	var r *reader
	err = l.withRetry(ctx, operationGroup, func(ctx context.Context) (err error) {
		r, err = l.openReader(ctx, id, p.committed, true)
		return err
	})
	if err != nil {
		return fmt.Errorf("read %s/%d from the committed offset %d: %w", id.topic, id.partition, p.committed, err)
	}
	defer r.Close()
	a := &assignment{reader: r, generation: g, began: r.next}
	defer a.markLost()
	return g.handle(ctx, a)
}

// heldPartition identifies a partition of a group.
type heldPartition struct {
	group string
	id    partitionID
}

// holdPartition waits until no handle of this process holds the partition for the group.
// The broker assigns it to another member after RebalanceTimeout, even if the handle of
// the former one has not returned.
func (l *Log) holdPartition(ctx context.Context, h heldPartition) (release func(), err error) {
	for {
		l.mu.Lock()
		held := l.mu.holds[h]
		if held == nil {
			released := make(chan struct{})
			l.mu.holds[h] = released
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.mu.holds, h)
				close(released)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// assignment is a partition held in one generation. It implements eventlog.Assignment.
type assignment struct {
	*reader
	generation *generation
	began      event.Offset
	mu         struct {
		sync.Mutex
		lost bool
	}
}

// Partition implements eventlog.Assignment.
func (a *assignment) Partition() int32 { return a.id.partition }

// markLost makes later commits fail, because the handle has returned.
func (a *assignment) markLost() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.lost = true
}

// Commit implements eventlog.Assignment. While the coordinator moves, it retries for
// commitTimeout; ctx cannot interrupt it.
func (a *assignment) Commit(ctx context.Context, next event.Offset) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := eventlog.ErrPartitionLost
	switch {
	case next < a.began:
		err = fmt.Errorf("%w: the assignment began at %d", eventlog.ErrOffsetOutOfRange, a.began)
	case !a.mu.lost:
		err = a.generation.commit(context.WithoutCancel(ctx), a.id.partition, next)
	}
	if err != nil {
		return fmt.Errorf("commit %s/%d at %d for group %s: %w", a.id.topic, a.id.partition, next, a.generation.member.group, err)
	}
	return nil
}

// commitTimeout bounds the attempts to commit.
const commitTimeout = 5 * time.Second

func (g *generation) commit(ctx context.Context, partition int32, next event.Offset) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	var pause backoff
	for {
		err := g.commitOnce(ctx, partition, next)
		if err == nil || !isRetriable(err) {
			return classifyError(err)
		}
		g.member.log.metrics.retries.WithLabelValues(operationGroup).Inc()
		if pause.waitNext(ctx) != nil {
			return err
		}
	}
}

func (g *generation) commitOnce(ctx context.Context, partition int32, next event.Offset) error {
	topic := string(g.member.topic)
	response, err := g.member.client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
		GroupID: g.member.group, MemberID: g.identity.member, GenerationID: int(g.identity.generation), InstanceID: g.identity.instance,
		Topics: map[string][]kafka.OffsetCommit{topic: {{Partition: int(partition), Offset: int64(next)}}},
	})
	if err != nil {
		return explainMissingGroupRight(err, "READ", g.member.group, "READ", g.member.topic)
	}
	return explainMissingGroupRight(firstError(response.Topics[topic], 1), "READ", g.member.group, "READ", g.member.topic)
}
