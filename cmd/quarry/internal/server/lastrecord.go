package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// LastRecordTime returns when the log took its last record, the zero time if it has
// none. An embedded log is held meanwhile: its server is stopped. On brokers nothing
// is changed.
func LastRecordTime(ctx context.Context, o Options) (last time.Time, err error) {
	var log eventlog.Log
	if o.Config.Log.Driver == "kafka" {
		if log, err = dialKafka(ctx, o.Config, o.Logger, nil); err != nil {
			return last, err
		}
	} else {
		directory, err := lockData(o)
		if err != nil {
			return last, err
		}
		defer closeInto(&err, directory)
		if log, err = openEmbedded(Options{Config: o.Config, Logger: o.Logger}); err != nil {
			return last, err
		}
	}
	defer closeInto(&err, log)
	for _, topic := range topicsOfLog {
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

// recordTime returns when the log took a record; zero for one that is not there any
// more, or never was.
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
	defer closeInto(&err, reader)
	record, err := reader.Next(ctx)
	if errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		return time.Time{}, nil
	}
	return record.Time, err
}

// LogEnds returns, for each partition of a log on brokers, the position of the next
// record.
func LogEnds(ctx context.Context, c *config.Config) (ends []event.Position, err error) {
	log, err := dialKafka(ctx, c, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, log)
	return endsOf(ctx, log)
}

// endsOf returns, for each partition of a log, the position of the next record.
func endsOf(ctx context.Context, log eventlog.Log) (ends []event.Position, err error) {
	for _, topic := range topicsOfLog {
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
