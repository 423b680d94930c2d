// Package worker reads records from the log and passes them to a handler: the records of
// one repository in order, those of different repositories concurrently.
//
// It answers the question "what happens to a record, whatever its handler does?": the
// record is handled, retried, or written to the dead letters with the reason. Only then
// may the partition's offset pass it. No record is skipped silently, and nothing blocks a
// partition forever except the log itself.
//
// # Lanes
//
// Each partition is read ahead into a window. The records of one key in the window form a
// lane, which handles one batch at a time: the records that are queued when its turn
// comes, at most Options.Batch. The lanes of all partitions share Options.Lanes slots.
// Long records (Options.Long) may use half of the slots, so that pushes do not wait for
// imports.
//
//	partition   a1 b1 a2 -- c1 a3 b2 …      --: not wanted, passed immediately
//	                │
//	            lane a: a1 a2 a3    one batch after another, including retries
//	            lane b: b1 b2
//	            lane c: c1
//	                │
//	low-water   every record below it is done; this offset is committed
//
// The window is bounded by the number and bytes of the records that are not done, and by
// its span: from the oldest record that is not done to the last one read, because after a
// crash the workers read those records again. So one slow key does not block other keys
// until MaxWindowRecords records, or MaxWindowBytes, wait behind it, or MaxSpan records
// of the partition follow it.
//
// # What a handler's error means
//
//	nil                        handled
//	wraps ErrPermanent,        dead letter immediately
//	wraps ErrUnavailable or    something that all records need is missing (the log, the
//	eventlog.ErrFull           disk, the segment store): every lane waits and retries
//	                           without limit, since every record would fail
//	wraps ErrElsewhere         something that this key needs is missing, such as a code
//	                           host: its lane retries for Options.Patience, and records
//	                           that arrive in that time join the batch; then the whole
//	                           batch becomes dead letters
//	any other                  retried, up to Options.Attempts times, then dead letter
//
// So a host that is down for minutes only causes a delay, and one that is down for longer
// leaves dead letters, not a blocked partition: the window bounds how many records a
// waiting lane holds back. pipeline/reconcile finds the given-up pushes once the host is
// back.
//
// An error of several records that were handled together does not show which of them
// failed. They are retried one by one: immediately after a permanent failure, and for the
// last attempt after other failures. So only records that fail on their own are given up.
//
// # A handler that hangs
//
// A call of the handler is canceled after Options.Stall without ReportProgress, or after
// Options.Limit in total; its records become dead letters. When a removal
// (Options.Removes) is read, the running call of its lane is canceled, and Handler.Skip
// answers the records before the removal. The removal then runs next, and the slot is
// free. A handler that ignores the end of its context is abandoned after maxGrace. Until
// the call returns, its lane handles only removals, because each other event would leave
// one more abandoned call.
//
// Waits grow exponentially with full jitter (Brooker, "Exponential Backoff And Jitter",
// 2015), up to Options.MaxBackoff. A waiting lane holds no slot.
//
// # Invariants
//
//  1. Records of a key are handled in order, by one call at a time.
//  2. The committed offset is the low-water mark: every record below it was
//     handled, is durable among the dead letters, or was not wanted. So a record is
//     handled at least once. After a crash, or when a partition moves, records above
//     the mark are handled again, and the handler must make that harmless.
//  3. Handler.Assigned has succeeded before a record of the partition is handled,
//     each time the partition is assigned.
//  4. When a partition is revoked or the worker stops, no new batch begins. Running
//     batches have Options.Drain to end; after that their context ends, and the
//     worker logs the unfinished ones. The offsets below the mark at that point are
//     committed.
//  5. While Options.Pressure exceeds Options.MaxAhead no batch begins. A Backlog
//     reports when to refuse webhooks: the backlog is in the log, and never in memory.
//
// # Concurrency
//
// For each partition that it holds, a Worker runs one goroutine that reads, one that
// commits, one for each lane with work (at most MaxWindowRecords), and one for each call
// of the handler. All of them have ended when Run returns, except abandoned calls. A
// Worker does not interpret the contents of records.
package worker
