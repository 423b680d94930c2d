package topics

import (
	"context"
	"errors"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// LastRecordTime returns the time at which the last record was appended to some topics of a
// log; the zero time if they have none.
func LastRecordTime(ctx context.Context, log eventlog.Log, of ...event.Topic) (last time.Time, err error) {
	for _, topic := range of {
		high, err := log.HighWater(ctx, topic)
		if err != nil {
			return last, err
		}
		for partition, next := range high {
			t, err := recordTime(ctx, log, event.Position{Topic: topic, Partition: int32(partition), Offset: next - 1})
			if err != nil {
				return last, err
			}
			if t.After(last) {
				last = t
			}
		}
	}
	return last, nil
}

// recordTime returns the time at which a record was appended; zero if the record was
// deleted or never existed.
func recordTime(ctx context.Context, log eventlog.Log, at event.Position) (_ time.Time, err error) {
	if at.Offset < 0 {
		return time.Time{}, nil
	}
	reader, err := log.Tail(ctx, at.Topic, at.Partition, at.Offset)
	if errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	record, err := reader.Next(ctx)
	if errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		return time.Time{}, nil
	}
	return record.Time, err
}

// ReadEnds returns, for each partition of a log, the position of the next record.
func ReadEnds(ctx context.Context, log eventlog.Log) (ends []event.Position, err error) {
	for _, topic := range All {
		high, err := log.HighWater(ctx, topic)
		if err != nil {
			return nil, err
		}
		for partition, next := range high {
			ends = append(ends, event.Position{Topic: topic, Partition: int32(partition), Offset: next})
		}
	}
	return ends, nil
}
