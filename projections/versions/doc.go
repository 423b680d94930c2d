// Package versions holds the versions of the projections: the live one, which queries
// read, and those that replays build.
//
// It answers the question "which version answers queries, and how does another replace
// it?".
//
// # Main types
//
//	Versions  holds the live version and switches to another; a reader acquires it, and
//	          keeps it to the end of its work
//	Version   the projections of one version over its store, with the parts that repair it
//	Replays   builds versions, one at a time, and reports their progress
//	Rebuild   does the same while no server runs
//
// # A switch
//
//	build next to live ──► wait for the live one ──► CURRENT ──► Versions.Live ──► stop the
//	parts that follow the old ──► hand over metrics and deletions ──► start those of the new
//	──► once the old one has no readers: close it
//
// If a process dies before CURRENT is replaced, the old version is live, otherwise the
// new one; both are complete.
//
// # Invariants
//
//  1. The store of a version is open for as long as it has users.
//  2. One version at a time follows the log with dead letters, metrics and deletions.
//  3. A replay that would replace the last copy of a document is refused, unless it is
//     forced (losscheck.go).
//  4. A version of the past never deletes, requests or erases anything.
//  5. Nothing is deleted before the version has caught up with the log: a version that
//     lags does not know which documents came back.
//
// # Concurrency
//
// Everything except Open, Run and Close is safe for concurrent use. Run blocks, and
// returns when everything that it started has ended.
//
// This package does not know the API: replays use the types of schemas/replay.
package versions
