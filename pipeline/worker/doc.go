// Package worker takes records off the log and gives them to a handler: those of
// one repository in their order, those of different repositories at once.
//
// It answers the question "what happens to a record, whatever its handler does?":
// it is handled, or tried again, or put to the dead letters with the reason; then
// the partition's offset may pass it. Nothing is skipped silently, and nothing
// blocks a partition forever except the log itself.
//
// # Lanes
//
// A partition is read ahead into a window. In it the records of one key form a
// lane, which handles one batch at a time: the records queued when its turn came,
// Options.Batch at most. Lanes of all partitions share Options.Lanes slots; long
// records (Options.Long) have half of them, so that pushes do not wait for imports.
//
//	partition   a1 b1 a2 -- c1 a3 b2 …      --: not wanted, or passed at once
//	                │
//	            lane a: a1 a2 a3    one batch, retries and all, after the other
//	            lane b: b1 b2
//	            lane c: c1
//	                │
//	low-water   below it every record is done: this is what is committed
//
// The window is bounded by records and bytes that are not done, and by its span,
// from the oldest record that is not done to the last one read: after a crash the
// workers look at those records again. So one slow key does not block others until
// MaxWindowRecords records, or MaxWindowBytes, wait behind it, or MaxSpan records
// of the partition have come after it.
//
// # What a handler's error means
//
//	nil                        handled
//	wraps ErrPermanent,        dead letter at once
//	wraps ErrUnavailable or    something all records need is missing (the log, the
//	eventlog.ErrFull           disk, the segment store): every lane waits and retries
//	                           without end, since every record would fail
//	                           again, without end, since no record would fare better
//	wraps ErrElsewhere         something this key needs is missing, a code host say:
//	                           its lane tries again, with what comes meanwhile in
//	                           the same batch, for Options.Patience; then dead
//	                           letters, all of the batch
//	any other                  try again, up to Options.Attempts times, then dead
//	                           letter
//
// So a host that is away for minutes costs nothing but time, and one that is away
// for longer leaves dead letters, not a blocked partition: the window bounds how many
// records a waiting lane holds back. pipeline/reconcile finds what was
// given up once the host is back.
//
// An error of several records that were handled as one says nothing of any of
// them: they are tried one by one, at once after a permanent failure and for the
// last attempt after others, so that only what fails by itself is given up.
//
// # A handler that hangs
//
// A call of the handler is canceled after Options.Stall without ReportProgress, or
// after Options.Limit in all; its records become dead letters. When a removal
// (Options.Removes) is read, the running call of its lane is canceled, and the
// records before the removal are answered by Handler.Skip: the removal is next, and
// the slot is free. A handler that ignores the end of its context is abandoned
// after maxGrace. Its lane then handles removals only, until the call returns,
// because each other event would leave one more abandoned call.
//
// Waits grow exponentially with full jitter (Brooker, "Exponential Backoff And
// Jitter", 2015), up to Options.MaxBackoff. A lane that waits has no place.
//
// # Invariants
//
//  1. Records of a key are handled in their order, by one call at a time.
//  2. The committed offset is the low-water mark: every record below it was
//     handled, or is durable among the dead letters, or was not wanted. So a
//     record is handled at least once; after a crash, or when a partition moves,
//     records above the mark are handled again, and a handler makes that harmless.
//  3. Handler.Assigned has succeeded before a record of the partition is handled,
//     each time the partition is assigned.
//  4. When a partition is revoked or the worker stops, no batch begins; running
//     batches have Options.Drain to end, after that their context ends, and the
//     worker logs the unfinished ones. The offsets below the mark at that point are
//     committed.
//  5. While Options.Pressure is over Options.MaxAhead no batch begins. A Backlog says
//     when webhooks are refused: the backlog is in the log, and never in memory.
//
// # Concurrency
//
// A Worker runs, for each partition it holds, one goroutine that reads, one that
// commits and one for each lane with work, at most MaxWindowRecords, and one for
// each call of the handler; all are gone when Run returns, except abandoned calls.
// It does not know what is in a record.
package worker
