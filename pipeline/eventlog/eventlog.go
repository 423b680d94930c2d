package eventlog

import (
	"context"
	"errors"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Errors of every driver.
var (
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("event log is closed")
	// ErrOffsetOutOfRange says that a read starts before the oldest record kept
	// or after the high-water mark.
	ErrOffsetOutOfRange = errors.New("offset is out of range")
	// ErrRecordTooLarge says that a record exceeds MaxRecordBytes.
	ErrRecordTooLarge = errors.New("record is too large")
	// ErrFull says that the log cannot take records now: the disk is full or the
	// broker pushes back. The caller answers 503 and tries again later.
	ErrFull = errors.New("event log cannot take records")
	// ErrPartitionLost says that a commit came after the partition was taken away.
	ErrPartitionLost = errors.New("partition was taken away")
	// ErrGroupInUse says that a group has members, which alone may say how far it
	// is.
	ErrGroupInUse = errors.New("group has members")
	// ErrKeptWhole says that a topic may not lose its beginning.
	ErrKeptWhole = errors.New("topic is kept whole")
)

// MaxRecordBytes bounds key, value and headers of one record together. It is
// below the broker's default of 1 MiB.
const MaxRecordBytes = 1000 << 10

// AnyPartition as the partition of an append lets the driver choose it by key.
const AnyPartition int32 = -1

// Log is an ordered, durable, partitioned log of records. All methods are safe
// for concurrent use.
type Log interface {
	// Partitions returns the number of partitions of topic.
	Partitions(ctx context.Context, topic event.Topic) (int32, error)

	// Append adds records to topic in order and returns once all of them are
	// durable, with their positions. Records with equal keys go to one partition,
	// chosen by PartitionOf; with partition other than AnyPartition, all go there.
	// On error none, some or all may have been added: the caller appends again,
	// and readers drop duplicates by event ID. The slices of the records must not
	// be changed afterwards: after a cancellation they may still be being written.
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)

	// Tail returns a reader of one partition from the given offset on. Offset 0
	// means the oldest record kept.
	Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (Reader, error)

	// HighWater returns, for each partition, the offset that the next record will
	// get: a reader that has consumed every offset below it is caught up.
	HighWater(ctx context.Context, topic event.Topic) ([]event.Offset, error)

	// Join makes the caller a member of a consumer group and blocks, calling handle
	// for each partition the group assigns to it, until ctx ends. Each handle runs
	// on its own goroutine; its context ends when the partition is revoked, and
	// Join does not assign the partition to another member of this process before
	// handle has returned. The records begin at the group's committed offset.
	//
	// Join returns when every handle has returned: ctx.Err() once ctx ended,
	// ErrClosed once the log was closed. A handle that returns before its context
	// ended makes the member leave the group, and Join returns what it returned;
	// what one returns after its context ended is dropped.
	Join(ctx context.Context, group string, topic event.Topic, handle func(ctx context.Context, a Assignment) error) error

	// Committed returns the group's committed offset of each partition: the next
	// offset to be read; 0 for none.
	Committed(ctx context.Context, group string, topic event.Topic) ([]event.Offset, error)

	// Note stores offsets, the next one to be read of each partition, as what a
	// group without members has reached: for readers that keep their position
	// elsewhere and let others see how far they are. Committed returns them; so does
	// Join go on from them. They may move back. A crash of the machine may lose the
	// latest ones. Note fails with ErrGroupInUse while the group has members.
	//
	// On Kafka the brokers forget a group without members some days after its last
	// note (offsets.retention.minutes, seven days unless set): who relies on notes
	// repeats them.
	Note(ctx context.Context, group string, topic event.Topic, offsets []event.Offset) error

	// Close releases what the log holds. Readers fail with ErrClosed.
	Close() error
}

// Trimmer is a Log that deletes the beginning of a partition on request. Other logs
// apply their own retention, such as Kafka's retention.ms.
type Trimmer interface {
	Log
	// Trim deletes the records of a partition below before. Once it returns they
	// stay deleted after any crash; offsets continue as if they were there. It does
	// nothing if they are already deleted. It fails with ErrKeptWhole unless
	// topic.Trimmable(), and with ErrOffsetOutOfRange if before is above the
	// high-water mark. A reader that has not read them yet fails with
	// ErrOffsetOutOfRange, and so does a group that continues from one of them.
	Trim(ctx context.Context, topic event.Topic, partition int32, before event.Offset) error
}

// Checkpointer is a Log that can copy itself while it is used.
type Checkpointer interface {
	Log
	// Checkpoint makes dir, which must not exist, a directory with everything that
	// was acknowledged before the call, and with what of later appends is durable: of
	// each partition, and of all together, a prefix of what the log will hold.
	Checkpoint(dir string) error
}

// Reader reads one partition in order. Its name here lets the log be read by packages
// that do not know it, such as projections.
type Reader = event.Reader

// Assignment is one partition held by a member of a group.
type Assignment interface {
	Reader
	Partition() int32
	// Commit stores next as the offset the group continues from. It is durable when
	// Commit returns. It fails with ErrPartitionLost if the partition was revoked;
	// until then a handle whose context ended may still commit what it finished. It
	// fails with ErrOffsetOutOfRange if next is below the offset at which the
	// assignment began: a handle that has finished nothing commits nothing.
	Commit(ctx context.Context, next event.Offset) error
}

// PartitionOf returns the partition of a key among n: FNV-1a of the key, so
// that both drivers place a repository alike.
func PartitionOf(key []byte, n int32) int32 {
	h := uint32(2166136261)
	for _, b := range key {
		h = (h ^ uint32(b)) * 16777619
	}
	return int32(h % uint32(n))
}
