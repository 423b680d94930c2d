// Package worker takes records off the log, one after the other in each
// partition, and gives them to a handler.
//
// It answers the question "what happens to a record, whatever its handler does?":
// it is handled, or tried again, or put to the dead letters with the reason; then
// its offset is committed, and the partition goes on. Nothing is skipped
// silently, and nothing stops a partition for ever but the log itself.
//
// # What a handler's error means
//
//	nil                        handled
//	wraps ErrPermanent,        dead letter at once
//	or a panic
//	wraps ErrUnavailable or    something all records need is missing (the log, the
//	eventlog.ErrFull           disk, the segment store): wait and try again, without
//	                           end, since the next record would fare no better
//	any other                  try again, up to Options.Attempts times, then dead
//	                           letter
//
// Waits grow exponentially with full jitter (Brooker, "Exponential Backoff And
// Jitter", 2015), up to Options.MaxBackoff.
//
// # Invariants
//
//  1. Records of a partition are handled in their order, one at a time.
//  2. An offset is committed only after the record was handled or is durable
//     among the dead letters. So a record is handled at least once; a handler
//     makes a repetition harmless.
//  3. When the worker is told to stop, the record in hand has Options.Drain to
//     end; after that its context ends.
//
// A Worker runs one goroutine for each partition it holds, all of which are gone
// when Run returns. It does not know what is in a record.
package worker
