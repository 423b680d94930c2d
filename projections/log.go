package projections

import (
	"context"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Tailer is the log as projections read it; the drivers of the event log are.
type Tailer interface {
	// Partitions returns the number of partitions of topic.
	Partitions(ctx context.Context, topic event.Topic) (int32, error)
	// Tail returns a reader of one partition from the given offset on.
	event.Tailer
	// HighWater returns, for each partition, the offset of the next record.
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)
}

// Appender takes dead letters.
type Appender interface {
	// Append adds records to topic and returns once they are durable. A negative
	// partition means the one of the key.
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
}

// anyPartition lets the log choose by key.
const anyPartition int32 = -1

// Checkpoint is how far a partition is applied.
type Checkpoint struct {
	Partition int32 `json:"partition"`
	// Next is the offset of the next record to apply.
	Next event.Offset `json:"next"`
}

// Lag is how far a partition is behind.
type Lag struct {
	Partition int32
	// Records is the number of offsets not yet published.
	Records int64
	// Seconds is the age of the oldest record being applied, or for how long records
	// have waited while none was published; the larger one.
	Seconds float64
}
