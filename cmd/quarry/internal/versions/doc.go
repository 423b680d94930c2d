// Package versions holds the versions of the projections: the live one, which queries
// read, and those that replays make.
//
// It answers the question "which version answers, and how does another take its place?".
//
// # Main types
//
//	Versions  holds the live version and switches to another; a reader acquires it, and
//	          keeps it to the end of what it does
//	Version   the projections of one version over its store, with what keeps them complete
//	Replays   makes versions, one at a time, and says how far each is
//	Rebuild   does the same while no server runs
//
// # A switch
//
//	build next to live ──► wait for the live one ──► CURRENT ──► Versions.Live ──► stop what
//	followed for the old ──► hand over metrics and deletions ──► follow for the new
//	──► once the old one has no readers: close it
//
// If a process dies before CURRENT is replaced, the old version is live, afterwards
// the new one; both are complete.
//
// # Invariants
//
//  1. The store of a version is open for as long as it has users.
//  2. One version at a time follows the log with dead letters, metrics and deletions.
//  3. A replay that would replace the last copy of a document is refused, unless it is
//     forced (losscheck.go).
//  4. A version of the past never deletes, requests or erases anything.
//  5. Nothing is deleted before the version has caught up with the log: one that is
//     behind does not know which documents came back.
//
// # Concurrency
//
// Everything but Open, Run and Close is safe for concurrent use. Run blocks, and returns
// when all that it started has ended.
//
// It knows no API: a replay is asked for, and described, in the words of schemas/replay.
package versions
