package eventlog

import (
	"context"
	"errors"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Errors that every driver returns.
var (
	// ErrClosed means that the log was closed.
	ErrClosed = errors.New("event log is closed")
	// ErrOffsetOutOfRange is event.ErrOffsetOutOfRange.
	ErrOffsetOutOfRange = event.ErrOffsetOutOfRange
	// ErrRecordTooLarge means that a record exceeds MaxRecordBytes.
	ErrRecordTooLarge = errors.New("record is too large")
	// ErrFull means that the log cannot accept records now: the disk is full or the
	// broker throttles. The caller answers 503 and retries later.
	ErrFull = errors.New("event log cannot take records")
	// ErrPartitionLost means that a commit came after the partition was revoked.
	ErrPartitionLost = errors.New("partition was taken away")
	// ErrGroupInUse means that a group has members, and only members may set its offsets.
	ErrGroupInUse = errors.New("group has members")
	// ErrKeptWhole means that a topic may not be trimmed.
	ErrKeptWhole = errors.New("topic is kept whole")
)

// MaxRecordBytes bounds the total size of key, value and headers of one record. It is
// below the broker's default of 1 MiB.
const MaxRecordBytes = 1000 << 10

// AnyPartition is event.AnyPartition.
const AnyPartition = event.AnyPartition

// Log is an ordered, durable, partitioned log of records. All methods are safe
// for concurrent use.
type Log interface {
	// Partitions returns the number of partitions of topic.
	Partitions(ctx context.Context, topic event.Topic) (int32, error)

	// Append adds records to topic in order and returns their positions once all of them
	// are durable. With AnyPartition, PartitionOf chooses the partition, so records with
	// equal keys go to the same one; otherwise all records go to the given partition. On
	// error none, some or all records may have been added: the caller appends again, and
	// readers drop duplicates by event ID. The caller must not change the slices of the
	// records afterwards, because a canceled append may still be writing them.
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)

	// Tail returns a reader of one partition, starting at the given offset. Offset 0
	// means the oldest record that is kept, except in a topic that is kept whole
	// (event.Topic.KeptWhole): if its first record was deleted, Tail fails with an
	// event.RangeError, so that no reader skips records without noticing.
	Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (Reader, error)

	// HighWater returns, for each partition, the offset of the next record: a reader that
	// has consumed every offset below it is caught up.
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)

	// Join makes the caller a member of a consumer group and blocks, calling handle for
	// each partition that the group assigns to it, until ctx ends. Each handle runs in
	// its own goroutine. Its context ends when the partition is revoked, and Join does
	// not assign the partition to another member of this process before handle has
	// returned. The records start at the group's committed offset, and without one at the
	// oldest record that is kept.
	//
	// Join returns when every handle has returned: ctx.Err() after ctx ended, ErrClosed
	// after the log was closed. If a handle returns before its context ended, the member
	// leaves the group, and Join returns the result of the handle. The result of a handle
	// that returns after its context ended is dropped.
	Join(ctx context.Context, group string, topic event.Topic, handle func(ctx context.Context, a Assignment) error) error

	// Committed returns the group's committed offset of each partition, which is the next
	// offset to read; 0 if there is none.
	Committed(ctx context.Context, group string, topic event.Topic) ([]event.Offset, error)

	// Note stores the next offset to read of each partition for a group without members.
	// It is for readers that store their position elsewhere and publish their progress.
	// Committed returns these offsets, and Join starts from them. They may decrease. A
	// crash of the machine may lose the latest ones. Note fails with ErrGroupInUse while
	// the group has members.
	//
	// Kafka brokers forget a group without members some days after its last note
	// (offsets.retention.minutes, seven days by default), so callers that rely on notes
	// must repeat them.
	Note(ctx context.Context, group string, topic event.Topic, offsets []event.Offset) error

	// Close releases the resources of the log. Readers then fail with ErrClosed.
	Close() error
}

// Trimmer is a Log that deletes the beginning of a partition on request. Other logs apply
// their own retention, such as Kafka's retention.ms.
type Trimmer interface {
	Log
	// Trim deletes the records of a partition below before. Once it returns, they stay
	// deleted after any crash; offsets continue as if the records still existed. It does
	// nothing if they are already deleted. It fails with ErrKeptWhole unless
	// topic.Trimmable(), and with ErrOffsetOutOfRange if before is above the high-water
	// mark. A reader that has not read the records yet fails with ErrOffsetOutOfRange,
	// and so does a group that continues from one of them.
	Trim(ctx context.Context, topic event.Topic, partition int32, before event.Offset) error
}

// Checkpointer is a Log that can copy itself while it is in use.
type Checkpointer interface {
	Log
	// Checkpoint creates dir, which must not exist, with all records acknowledged before
	// the call, and the durable part of later appends: for each partition, and for all of
	// them together, a prefix of what the log will contain.
	Checkpoint(dir string) error
}

// Importer is a Log to which another log can be copied.
type Importer interface {
	Log
	// Import adds records to one partition as Append does, but they keep their times, in
	// milliseconds.
	Import(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
	// DeleteBefore is Trim of a Trimmer. It has another name because a server trims the
	// logs that are Trimmers.
	DeleteBefore(ctx context.Context, topic event.Topic, partition int32, before event.Offset) error
}

// Reader reads one partition in order. The alias lets packages that do not import this
// one, such as projections, read the log.
type Reader = event.Reader

// Assignment is one partition assigned to a member of a group.
type Assignment interface {
	Reader
	Partition() int32
	// Commit stores next as the offset from which the group continues. It is durable when
	// Commit returns. It fails with ErrPartitionLost if the partition was revoked; until
	// then, a handle whose context ended may still commit the records that it finished.
	// It fails with ErrOffsetOutOfRange if next is below the offset at which the
	// assignment started, so a handle that finished no record must not commit a lower
	// offset.
	Commit(ctx context.Context, next event.Offset) error
}

// PartitionOf returns the partition of a key among n: FNV-1a of the key, so that both
// drivers put a repository into the same partition.
func PartitionOf(key []byte, n int32) int32 {
	h := uint32(2166136261)
	for _, b := range key {
		h = (h ^ uint32(b)) * 16777619
	}
	return int32(h % uint32(n))
}
