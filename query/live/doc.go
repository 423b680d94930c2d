// Package live keeps the latest events of the server for callers that follow them.
//
// It answers the question "what has happened since this position, for this reader?". The
// main types are Feed (follows the log and keeps the latest notices), Notice (one thing
// that happened) and Subscription (the position of one reader).
//
//	log ──► follow.go, one reader per partition ──► await the projections ──► ring ──► Subscription
//	work of this process ──► work.go, once a second ───────────────────────┘
//
// A notice appears once searches of this process see its effect. The ring holds the last
// ringNotices for all readers together, so a slow reader costs no memory: a reader that
// falls behind the ring has lost its position, and must reload what it shows.
//
// # Positions
//
// A position is an opaque text that only processes with the same secret can read: the
// offset of each partition, encrypted with a random nonce. Plain offsets would reveal
// activity in repositories that the reader may not see. A position is valid for
// maxPositionAge, even across a restart, as long as the ring reaches back to it.
//
// # Invariants
//
//  1. Notices of one partition arrive in log order, each once for a reader that
//     resumes from the last position that it received.
//  2. A reader that missed notices since its position is informed that it did.
//  3. The package does not decide who may see a notice: the reader filters by
//     Notice.Repository, and checks permissions for each notice when it is read.
//  4. Progress of imports has no position: it is not repeated after a reconnection.
//
// A reader can still observe the overall load: it loses its position when more than
// ringNotices notices have been added since, of any repositories.
//
// # Concurrency
//
// Run starts one goroutine for each partition and one for the work of the process, and
// returns when all have ended. A Feed is safe for concurrent use; a Subscription belongs
// to one goroutine.
//
// # Metrics
//
//	quarry_live_notices_total{kind}     notices added to the feed
//	quarry_live_positions_total{result} positions that readers resumed from: kept, lost
//	quarry_live_lag_records             records that the feed has not read yet
package live
