// Package eventlog is the contract of the log: an ordered, durable, partitioned
// sequence of records from which everything else can be rebuilt.
//
// It answers the question "what may a reader or writer of the log rely on,
// whichever log it is?". Two drivers keep the contract: embeddedlog, durable inside
// the process and the default, and kafkalog, on Apache Kafka. Both pass the suite
// in eventlogtest; no other code in Quarry depends on which one it uses.
//
// Main types: Log, Reader (one partition in order), Assignment (one partition
// held by a member of a consumer group), Trimmer (deletes the beginning),
// Checkpointer (copies itself while it is used).
//
// # Invariants
//
//  1. What Append acknowledged is there after a crash of the process and, up to
//     what the disk promises, of the machine.
//  2. Records of one partition are read in the order of their offsets, each at
//     least once; offsets rise and are never given to another record.
//  3. Records with equal keys share a partition, the same one in every driver
//     with the same number of partitions (PartitionOf).
//  4. A reader sees only records that are durable: what it has read cannot
//     vanish.
//  5. Within a process no partition of a group is handed to two members at once.
//     Across processes a member that lost a partition may still be finishing a
//     record: effects must be harmless when repeated.
//  6. A topic is kept whole, except for those that may lose their beginning
//     (event.Topic.Trimmable): a read from offset 0 begins at the first record that
//     is kept, one from a record that is gone fails.
//
// Delivery is at least once. Readers that keep their own position write it with
// the effect and so apply each record once.
//
// # Concurrency
//
// A Log is safe for concurrent use, a Reader is used by one goroutine at a time.
//
// The package does no I/O and does not know what is in a record.
package eventlog
