package projections

import (
	"context"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Tailer is the part of the log that projections read. The drivers of the event log
// implement it.
type Tailer interface {
	// Partitions returns the number of partitions of topic.
	Partitions(ctx context.Context, topic event.Topic) (int32, error)
	// Tail returns a reader of one partition, starting at the given offset.
	event.Tailer
	// HighWater returns, for each partition, the offset of the next record.
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)
}

// Appender appends dead letters.
type Appender interface {
	// Append adds records to topic and returns once they are durable. A negative
	// partition selects the partition by key.
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
}

// Checkpoint is the position up to which a partition is applied.
type Checkpoint struct {
	Partition int32 `json:"partition"`
	// Next is the offset of the next record to apply.
	Next event.Offset `json:"next"`
}

// Lag is the distance of a partition behind the log.
type Lag struct {
	Partition int32
	// Records is the number of offsets not yet published.
	Records int64
	// Seconds is the age of the oldest record being applied, or the time for which
	// records have waited while none was published, whichever is larger.
	Seconds float64
}
