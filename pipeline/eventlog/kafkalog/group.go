package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
)

// member is one call of Join.
type member struct {
	log    *Log
	group  string
	topic  event.Topic
	handle func(context.Context, eventlog.Assignment) error
	// failed takes the result of the first handle that returned early.
	failed chan error
	// running counts handles.
	running sync.WaitGroup
}

// Join implements eventlog.Log. While brokers are away it waits for them.
func (l *Log) Join(ctx context.Context, group string, topic event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	if err := l.join(ctx, group, topic, handle); err != nil {
		return fmt.Errorf("group %s on %s: %w", group, topic, err)
	}
	return nil
}

func (l *Log) join(ctx context.Context, group string, topic event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	if err := eventlog.CheckName(group); err != nil {
		return err
	}
	if l.isClosed() {
		return eventlog.ErrClosed
	}
	// Without the topic the members would get nothing and say nothing.
	if _, err := l.Partitions(ctx, topic); err != nil {
		return err
	}
	m := &member{log: l, group: group, topic: topic, handle: handle, failed: make(chan error, 1)}
	connections := newConnections(l.opts)
	consumers, err := m.newConsumerGroup(connections)
	if err != nil {
		return err
	}
	ctx, cancel := l.untilClosed(ctx)
	err = m.run(ctx, consumers)
	cancel()
	// Leaves the group, so that the partitions pass on at once, and waits until
	// the handles of the last generation have returned.
	closeErr := consumers.Close()
	m.running.Wait()
	connections.closeAll()
	return errors.Join(ended(ctx, err), closeErr)
}

func (m *member) newConsumerGroup(connections *connections) (*kafka.ConsumerGroup, error) {
	opts := m.log.opts
	return kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: m.group, Brokers: opts.Brokers, Topics: []string{string(m.topic)},
		Dialer: &kafka.Dialer{
			ClientID: opts.ClientID, DialFunc: connections.dial, Timeout: opts.DialTimeout,
			TLS: opts.TLS, SASLMechanism: m.log.sasl,
		},
		HeartbeatInterval: heartbeatInterval,
		SessionTimeout:    opts.SessionTimeout,
		RebalanceTimeout:  opts.RebalanceTimeout,
		JoinGroupBackoff:  maxBackoff,
		StartOffset:       kafka.FirstOffset,
		GroupBalancers:    []kafka.GroupBalancer{kafka.RangeGroupBalancer{}},
	})
}

// run starts the handles of each generation until ctx ends or one of them
// returns early.
func (m *member) run(ctx context.Context, consumers *kafka.ConsumerGroup) error {
	for {
		generation, err := m.nextGeneration(ctx, consumers)
		if err != nil {
			return err
		}
		if generation == nil { // a handle returned early, with result nil
			return nil
		}
		m.log.metrics.generations.Inc()
		for _, a := range generation.Assignments[string(m.topic)] {
			m.start(ctx, generation, a)
		}
	}
}

// nextGeneration waits for the next generation and rides out errors that pass.
// It returns nil and the handle's result when a handle returned early.
func (m *member) nextGeneration(ctx context.Context, consumers *kafka.ConsumerGroup) (*kafka.Generation, error) {
	waitCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		generation *kafka.Generation
		err        error
	}
	next := make(chan result, 1)
	for warned := false; ; {
		go func() {
			g, err := consumers.Next(waitCtx)
			next <- result{g, err}
		}()
		select {
		case err := <-m.failed:
			cancel()
			<-next
			return nil, err
		case r := <-next:
			if r.err == nil || ctx.Err() != nil {
				return r.generation, r.err
			}
			if !joinPasses(r.err) {
				return nil, classify(r.err)
			}
			m.log.metrics.retries.WithLabelValues(operationGroup).Inc()
			if !warned {
				m.log.opts.Logger.Warn("cannot join the group, trying again", "group", m.group, "topic", m.topic, "error", r.err)
				warned = true
			}
		}
	}
}

// joinPasses reports whether an error of joining may pass by itself. Here more
// does than elsewhere: the group may have forgotten the member or its generation,
// and the client then joins as a new one.
func joinPasses(err error) bool {
	for _, code := range []kafka.Error{kafka.InvalidSessionTimeout, kafka.InconsistentGroupProtocol, kafka.InvalidGroupId} {
		if errors.Is(err, code) {
			return false
		}
	}
	return !errors.Is(classify(err), ErrRefused) && !errors.Is(err, kafka.ErrGroupClosed)
}

// start runs the handle of a partition until the generation or ctx ends.
func (m *member) start(ctx context.Context, generation *kafka.Generation, pa kafka.PartitionAssignment) {
	m.running.Add(1)
	generation.Start(func(generationCtx context.Context) {
		defer m.running.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(generationCtx, cancel)
		defer stop()
		err := m.consume(ctx, generation, pa)
		if ctx.Err() != nil {
			return
		}
		select {
		case m.failed <- err:
		default: // another one was first
		}
	})
}

// consume reads a partition from the committed offset on.
func (m *member) consume(ctx context.Context, generation *kafka.Generation, pa kafka.PartitionAssignment) error {
	id := partitionID{m.topic, int32(pa.ID)}
	release, err := m.log.hold(ctx, hold{m.group, id})
	if err != nil {
		return err
	}
	defer release()
	from := event.Offset(max(pa.Offset, 0))
	var r *reader
	err = m.log.retry(ctx, operationGroup, func(ctx context.Context) (err error) {
		r, err = m.log.tail(ctx, id, from)
		return err
	})
	if err != nil {
		return fmt.Errorf("read %s/%d from the committed offset %d: %w", id.topic, id.partition, from, err)
	}
	defer r.Close()
	a := &assignment{reader: r, generation: generation, began: r.next}
	defer a.lose()
	return m.handle(ctx, a)
}

// hold names a partition of a group.
type hold struct {
	group string
	id    partitionID
}

// hold waits until no handle of this process has the partition of the group.
// The broker gives it to another member once RebalanceTimeout is over, even if
// the handle of the former one has not returned.
func (l *Log) hold(ctx context.Context, h hold) (release func(), err error) {
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

// assignment is a partition held in one generation. It implements
// eventlog.Assignment.
type assignment struct {
	*reader
	generation *kafka.Generation
	began      event.Offset
	mu         struct {
		sync.Mutex
		lost bool
	}
}

// Partition implements eventlog.Assignment.
func (a *assignment) Partition() int32 { return a.id.partition }

// lose makes commits fail from now on: the handle has returned.
func (a *assignment) lose() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.lost = true
}

// Commit implements eventlog.Assignment. ctx cannot interrupt it; the client
// gives up after some seconds.
func (a *assignment) Commit(_ context.Context, next event.Offset) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := eventlog.ErrPartitionLost
	switch {
	case next < a.began:
		err = fmt.Errorf("%w: the assignment began at %d", eventlog.ErrOffsetOutOfRange, a.began)
	case !a.mu.lost:
		err = classify(a.generation.CommitOffsets(map[string]map[int]int64{
			string(a.id.topic): {int(a.id.partition): int64(next)},
		}))
	}
	if err != nil {
		return fmt.Errorf("commit %s/%d at %d for group %s: %w", a.id.topic, a.id.partition, next, a.generation.GroupID, err)
	}
	return nil
}

// Committed implements eventlog.Log.
func (l *Log) Committed(ctx context.Context, group string, topic event.Topic) ([]event.Offset, error) {
	offsets, err := l.committed(ctx, group, topic)
	if err != nil {
		return nil, fmt.Errorf("committed offsets of group %s on %s: %w", group, topic, err)
	}
	return offsets, nil
}

func (l *Log) committed(ctx context.Context, group string, topic event.Topic) ([]event.Offset, error) {
	if err := eventlog.CheckName(group); err != nil {
		return nil, err
	}
	if l.isClosed() {
		return nil, eventlog.ErrClosed
	}
	n, err := l.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	partitions := make([]int, n)
	for p := range partitions {
		partitions[p] = p
	}
	offsets := make([]event.Offset, n)
	err = l.request(ctx, func(ctx context.Context) error {
		response, err := l.client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{
			GroupID: group, Topics: map[string][]int{string(topic): partitions},
		})
		if err != nil {
			return err
		}
		if response.Error != nil {
			return response.Error
		}
		return fillCommitted(offsets, response.Topics[string(topic)])
	})
	return offsets, err
}

func fillCommitted(offsets []event.Offset, answered []kafka.OffsetFetchPartition) error {
	if len(answered) != len(offsets) {
		return errIncomplete
	}
	for _, p := range answered {
		if p.Error != nil {
			return p.Error
		}
		if p.Partition < 0 || p.Partition >= len(offsets) {
			return errIncomplete
		}
		// -1 says that nothing was committed.
		offsets[p.Partition] = event.Offset(max(p.CommittedOffset, 0))
	}
	return nil
}
