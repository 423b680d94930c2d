package projectiontest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Log is an in-memory log of events, with a list of dead letters. It is safe for
// concurrent use.
type Log struct {
	mu struct {
		sync.Mutex
		partitions [][]event.Record
		dead       []event.Record
		// more is closed, and replaced, when a record is added.
		more chan struct{}
		// fail is returned by Append, if set.
		fail error
		// failed receives a signal for each such failure.
		failed chan struct{}
	}
}

var (
	_ projections.Tailer   = (*Log)(nil)
	_ projections.Appender = (*Log)(nil)
)

// NewLog returns an empty log.
func NewLog(partitions int32) *Log {
	l := &Log{}
	l.mu.partitions = make([][]event.Record, partitions)
	l.mu.more = make(chan struct{})
	return l
}

// Add adds records at their own positions.
func (l *Log) Add(records ...event.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, rec := range records {
		p := &l.mu.partitions[rec.Position.Partition]
		*p = append(*p, rec)
	}
	close(l.mu.more)
	l.mu.more = make(chan struct{})
}

// Partitions implements projections.Tailer.
func (l *Log) Partitions(context.Context, event.Topic) (int32, error) {
	return int32(len(l.mu.partitions)), nil
}

// HighWater implements projections.Tailer.
func (l *Log) HighWater(context.Context, event.Topic) ([]event.Offset, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	high := make([]event.Offset, len(l.mu.partitions))
	for i, records := range l.mu.partitions {
		if n := len(records); n > 0 {
			high[i] = records[n-1].Position.Offset + 1
		}
	}
	return high, nil
}

// Tail implements projections.Tailer.
func (l *Log) Tail(_ context.Context, _ event.Topic, partition int32, from event.Offset) (event.Reader, error) {
	return &reader{log: l, partition: partition, from: from}, nil
}

// FailAppends makes Append fail with err, or succeed again if err is nil. The returned
// channel receives a signal for each failure, as long as its buffer has room.
func (l *Log) FailAppends(err error) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.fail, l.mu.failed = err, make(chan struct{}, 16)
	return l.mu.failed
}

// Append implements projections.Appender. It accepts only dead letters.
func (l *Log) Append(_ context.Context, topic event.Topic, _ int32, records ...event.Record) ([]event.Position, error) {
	if topic != event.TopicDeadLetters {
		return nil, fmt.Errorf("append to %s: only dead letters are taken", topic)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.fail != nil {
		select {
		case l.mu.failed <- struct{}{}:
		default:
		}
		return nil, l.mu.fail
	}
	l.mu.dead = append(l.mu.dead, records...)
	return make([]event.Position, len(records)), nil
}

// DeadLetters returns the dead letters so far.
func (l *Log) DeadLetters() []event.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]event.Record(nil), l.mu.dead...)
}

type reader struct {
	log       *Log
	partition int32
	from      event.Offset
	closed    bool
}

// Next implements event.Reader.
func (r *reader) Next(ctx context.Context) (event.Record, error) {
	for {
		rec, ok, more := r.next()
		if ok {
			return rec, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return event.Record{}, ctx.Err()
		}
	}
}

func (r *reader) next() (event.Record, bool, <-chan struct{}) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	for _, rec := range r.log.mu.partitions[r.partition] {
		if rec.Position.Offset >= r.from {
			r.from = rec.Position.Offset + 1
			return rec, true, nil
		}
	}
	return event.Record{}, false, r.log.mu.more
}

// Close implements event.Reader.
func (r *reader) Close() error {
	if r.closed {
		return errors.New("reader is closed twice")
	}
	r.closed = true
	return nil
}
