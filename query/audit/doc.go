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
// # What if the log does not answer?
//
// The queue holds what is read meanwhile, Options.QueueBytes of it: some minutes of
// a busy server, some hours of a quiet one. Once it is full, requests wait for
// Options.MaxWait and are then refused (ErrUnavailable): evidence takes precedence
// over availability. With Options.Lossy requests are answered instead, and lost
// records are counted, in a metric and in a separate record. Changes wait for the
// log in any case.
//
// # Invariants
//
//  1. Records are appended in the order in which they came.
//  2. Record returns without an error only after the acknowledgement of the log.
//  3. A record is appended once in effect: a group that is tried again keeps the ID
//     of its event, by which readers know it.
//  4. No record is dropped without a count and a line in the log; without Lossy
//     that is only when the process dies, or at its end if neither the log nor
//     Options.PendingFile takes it.
//  5. What a record holds is cut to the bounds of schemas/audit, and holds no
//     credential that is known by its form (Clean).
//
// # Concurrency
//
// A Recorder is safe for concurrent use. Run is one goroutine, which the caller
// owns.
package audit
