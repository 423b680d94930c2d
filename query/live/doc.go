// Package live keeps the latest events of the server for callers that follow them.
//
// It answers the question "what has happened since this position, for this reader?". The
// main types are Feed (follows the log and keeps the latest notices), Notice (one thing
// that happened) and Subscription (the place of one reader).
//
//	log ──► follow.go, one reader a partition ──► await the projections ──► ring ──► Subscription
//	work of this process ──► work.go, once a second ───────────────────────┘
//
// A notice appears once searches of this process see its effect. The ring holds the last
// ringNotices, of all readers together, so that a slow reader costs no memory: one that
// falls behind the ring has lost its place, and has to read again what it shows.
//
// # Positions
//
// A position is a text that only processes with the same secret can read: the offset of
// each partition, encrypted with a random nonce. Offsets would count what happens in
// repositories that the reader may not see. A position is good for maxPositionAge, also
// after a restart, as long as the ring reaches back to it.
//
// # Invariants
//
//  1. Notices of one partition come in the order of the log, each once for a reader that
//     goes on from the last position that it was given.
//  2. A reader that missed something since its position learns that it did.
//  3. Nothing here decides who may see a notice: the reader filters by Notice.Repository,
//     and checks each notice by the permissions of that moment.
//  4. Progress of imports has no position: it is not repeated after a reconnection.
//
// What remains visible to a reader is the load as a whole: a position is lost when more
// than ringNotices happened since, of whichever repository.
//
// # Concurrency
//
// Run starts one goroutine for each partition and one for the work of the process, and
// returns when all have ended. A Feed is safe for concurrent use, a Subscription belongs
// to one goroutine.
//
// # Metrics
//
//	quarry_live_notices_total{kind}   notices that the feed took
//	quarry_live_positions_total{result} positions that readers went on from: kept, lost
//	quarry_live_lag_records           records that the feed has not read yet
package live
