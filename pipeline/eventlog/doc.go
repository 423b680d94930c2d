// Package eventlog defines the contract of the log: an ordered, durable, partitioned
// sequence of records from which everything else can be rebuilt.
//
// It answers the question "what may a reader or writer of the log rely on, whichever log
// it is?". Two drivers implement the contract: embeddedlog, the default, which is durable
// inside the process, and kafkalog, on Apache Kafka. Both pass the suite in eventlogtest;
// no other code in Quarry depends on which one it uses.
//
// Main types: Log, Reader (one partition in order), Assignment (one partition held by a
// member of a consumer group), Trimmer (deletes the beginning), Checkpointer (copies the
// log while it is in use), Importer (receives the records of another log, from package
// logcopy).
//
// # Invariants
//
//  1. Acknowledged records survive a crash of the process and, as far as the disk
//     guarantees it, of the machine.
//  2. Records of one partition are read in order of offset, each at least once.
//     Offsets increase and are never reused.
//  3. Records with equal keys are in the same partition, which is the same in every
//     driver with the same number of partitions (PartitionOf).
//  4. A reader sees only durable records: a record that was read cannot vanish.
//  5. Within a process, no partition of a group is assigned to two members at the
//     same time. Across processes, a member that lost a partition may still be
//     finishing a record, so effects must be harmless when repeated.
//  6. All records of a topic are kept, except in topics that may be trimmed
//     (event.Topic.Trimmable). In a trimmed topic, a read from offset 0 begins at the
//     first record that is kept, and a read from a deleted record fails. If brokers or
//     an operator deleted the beginning of a topic that is kept whole, a read from
//     offset 0 fails, too.
//
// Delivery is at least once. Readers that store their own position write it together with
// the effect, and so apply each record exactly once.
//
// # Concurrency
//
// A Log is safe for concurrent use; a Reader must be used by one goroutine at a time.
//
// The package does no I/O and does not interpret the contents of records.
package eventlog
