// Package kafkalog is the event log on Apache Kafka.
//
// It answers the question "how is the contract of the log kept on a cluster of
// brokers?". It is the only package that imports a Kafka client.
//
// Main types: Log, an eventlog.Log, made by Open; Options; TopicSpec, for
// EnsureTopics.
//
// # How the contract is kept
//
//   - Append: one produce request at a time per partition, acknowledged by all
//     in-sync replicas; appends that come meanwhile share the next one. The answer
//     has the offset of the first record, so every position is real. A batch that
//     is sent again is recognized by the brokers: batch.go encodes it with the
//     number of a producer and a sequence, producer.go says what follows from each
//     answer. Rejected: the client's Writer, which does neither, does not return
//     offsets and waits for its timer.
//   - Tail: fetch requests that the broker answers as soon as there is a record.
//     While the broker is away a reader waits and tries again; it does not fail.
//     Rejected: the client's Reader, whose group mode hands out records of a
//     partition that was taken away.
//   - Join: the protocol of groups, spoken by member.go; each generation starts its
//     own readers, so none is left over from the generation before. A member keeps
//     its ID while its coordinator is away or moves, and a process with
//     Options.Instance comes back under its name after kill -9. Rejected: the
//     client's ConsumerGroup, which joins as a new member after each failure; the
//     group then waits until the session of the former one is over.
//   - A leader dies: refresh.go has the client learn of the next one as soon as a
//     request has failed.
//   - Times of records are in milliseconds; offsets may have gaps.
//
// # Invariants
//
//  1. An offset is acknowledged only if every in-sync replica has the record.
//  2. A batch that failed is sent again before the next one, so the order of a
//     partition holds, and it is there once. What a caller appends again after an
//     error may be there twice, which readers of events expect.
//  3. The partition of a key is eventlog.PartitionOf, not the client's hash.
//  4. Topics are never created by accident: EnsureTopics makes them.
//  5. Errors never hold a password.
//
// # Concurrency
//
// All methods of Log are safe for concurrent use. The client library keeps a few
// goroutines per broker from Open to Close; Close ends them.
//
// Metrics are in metrics.go. Real brokers for tests are in kafkatest.
//
// The package does not use Kafka's transactions: the client's reader hands out
// records of aborted ones. It must not look into records.
package kafkalog
