// Package kafkalog is the event log on Apache Kafka.
//
// It answers the question "how is the contract of the log kept on a cluster of brokers?".
// It is the only package that imports a Kafka client.
//
// Main types: Log, an eventlog.Log, returned by Open; Options; TopicSpec, for
// EnsureTopics.
//
// # How the contract is kept
//
//   - Append: one produce request at a time per partition, acknowledged by all
//     in-sync replicas; appends that arrive in the meantime share the next request.
//     The response contains the offset of the first record, so every position is real.
//     The brokers recognize a batch that is sent again: batch.go encodes it with a
//     producer ID and a sequence number, producer.go describes the reaction to each
//     response. Rejected: the client's Writer, which does neither, does not return
//     offsets and waits for its timer.
//   - Import: as Append, with the time of each record. DeleteBefore sends DeleteRecords
//     (deleterecords.go).
//   - Tail: fetch requests that the broker answers as soon as there is a record.
//     While the broker is down, a reader waits and retries; it does not fail.
//     Rejected: the client's Reader, whose group mode returns records of a partition
//     that was revoked.
//   - Join: member.go implements the group protocol. Each generation starts its own
//     readers, so none is left over from the previous generation. A member keeps its
//     ID while its coordinator is down or moves, and a process with Options.Instance
//     rejoins under its name after kill -9. Rejected: the client's ConsumerGroup,
//     which joins as a new member after each failure; the group then waits until the
//     session of the former member expires.
//   - Failover: refresh.go makes the client find the new leader as soon as a request
//     has failed.
//   - Times of records are in milliseconds; offsets may have gaps.
//
// # Invariants
//
//  1. An offset is acknowledged only if every in-sync replica has the record.
//  2. A batch that failed is retried before the next one, so a partition stays in
//     order and the batch appears once. Records that a caller appends again after an
//     error may appear twice, which readers of events expect.
//  3. The partition of a key is eventlog.PartitionOf, not the client's hash.
//  4. Topics are never created by accident: only EnsureTopics creates them.
//  5. Errors never contain a password.
//
// # Concurrency
//
// All methods of Log are safe for concurrent use. The client library runs a few
// goroutines per broker from Open to Close; Close ends them.
//
// metrics.go defines the metrics. Package kafkatest provides real brokers for tests.
//
// The package does not use Kafka transactions, because the client's reader returns
// records of aborted ones. It must not interpret the contents of records.
package kafkalog
