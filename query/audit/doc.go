// Package audit records the actions of callers.
//
// It answers the question "is there an entry for this request, whatever happens
// next?". The main type is Recorder: it takes records, keeps them in a queue of
// bounded size, and appends them in groups to event.TopicAudit.
//
//	Note ────┐
//	         ├─► queue ─► group of records ─► AuditRecorded ─► event.TopicAudit
//	Record ◄─┘                                    └── acknowledged: Record returns
//
// # If the log does not answer
//
// The queue holds records in the meantime, up to Options.QueueBytes: some minutes of a
// busy server, some hours of a quiet one. Once it is full, requests wait for
// Options.MaxWait and are then refused (ErrUnavailable): evidence takes precedence over
// availability. With Options.Lossy, requests are answered instead, and lost records are
// counted, in a metric and in a separate record. Changes always wait for the log.
//
// # Invariants
//
//  1. Records are appended in the order in which they arrived.
//  2. Record returns without an error only after the log has acknowledged the record.
//  3. A record is appended effectively once: a retried group keeps the ID of its event,
//     by which readers recognize it.
//  4. No record is dropped without a count and a log line; without Lossy, that happens
//     only if the process dies, or at its end if neither the log nor Options.PendingFile
//     accepts the record.
//  5. The content of a record is truncated to the bounds of schemas/audit, and contains no
//     credential of a known form (Clean).
//
// # Concurrency
//
// A Recorder is safe for concurrent use. Run is one goroutine, which the caller starts.
package audit
