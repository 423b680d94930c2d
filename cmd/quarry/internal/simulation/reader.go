package simulation

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// reader reads a partition. The scheduler allows it to read some records at a time.
type reader struct {
	c         *connection
	name      string
	topic     event.Topic
	partition int32
	next      event.Offset
	// allowed is the number of records that it may read before it awaits the scheduler
	// again.
	allowed int
	// single makes the scheduler choose every record; atOnce bypasses the scheduler.
	single, atOnce bool
	closed         bool
}

// Tail implements eventlog.Log.
func (c *connection) Tail(_ context.Context, topic event.Topic, partition int32, from event.Offset) (eventlog.Reader, error) {
	name := fmt.Sprintf("tail %s/%d from %d", topic, partition, from)
	r, err := c.newReader(name, topic, partition, from)
	if err != nil {
		return nil, err
	}
	r.atOnce = c.readsAtOnce || c.s == nil
	return r, nil
}

func (c *connection) newReader(name string, topic event.Topic, partition int32, from event.Offset) (*reader, error) {
	if err := errors.Join(c.checkOpen(topic), eventlog.CheckPartition(partition, c.l.countPartitions(topic), false)); err != nil {
		return nil, err
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if end := event.Offset(len(c.l.topicLocked(topic)[partition].records)); from < 0 || from > end {
		return nil, fmt.Errorf("read %s/%d from %d, want 0 to %d: %w", topic, partition, from, end, eventlog.ErrOffsetOutOfRange)
	}
	return &reader{c: c, name: name, topic: topic, partition: partition, next: from}, nil
}

// Next implements eventlog.Reader.
func (r *reader) Next(ctx context.Context) (event.Record, error) {
	for {
		if err := errors.Join(r.c.checkOpen(r.topic), context.Cause(ctx)); err != nil {
			return event.Record{}, err
		}
		rec, there, more := r.peekRecord()
		if !there {
			select {
			case <-more:
			case <-r.c.closing:
			case <-ctx.Done():
			}
			continue
		}
		if r.allowed == 0 && !r.atOnce {
			d := r.c.s.awaitDecision(ctx, r.c.process, fmt.Sprintf("%s at %d", r.name, r.next))
			if d.err != nil {
				return event.Record{}, d.err
			}
			if r.allowed = d.amount; r.single {
				r.allowed = 1
			}
		}
		r.allowed = max(0, r.allowed-1)
		r.next++
		return rec, nil
	}
}

func (r *reader) peekRecord() (rec event.Record, there bool, more <-chan struct{}) {
	r.c.l.mu.Lock()
	defer r.c.l.mu.Unlock()
	p := r.c.l.topicLocked(r.topic)[r.partition]
	if r.next < event.Offset(len(p.records)) {
		return p.records[r.next], true, nil
	}
	return rec, false, p.more
}

// Close implements eventlog.Reader.
func (r *reader) Close() error {
	if r.closed {
		return errors.New("the reader is closed twice")
	}
	r.closed = true
	return nil
}
