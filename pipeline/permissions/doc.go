// Package permissions reads from code hosts who may read the private repositories of
// connections, and keeps these permissions current.
//
// It answers the question "which users may read this repository on its host, and as of
// when?".
//
//	schedule, HostAccessDoubted
//	          │
//	          ▼
//	discovery.MemberReader ──► compare with what is known ──► HostAccessRead, -Confirmed ──► log
//	          │ failure
//	          ▼
//	nothing is appended: the previous reading counts until it is too old (query/auth)
//
// The main types are Reader, Connection and State.
//
// # Invariants
//
//  1. An incomplete reading appends nothing: it neither grants access nor extends the
//     validity of an older reading.
//  2. A confirmation is appended only if the rows equal the host's answer and include
//     every event that this process appended for the repository.
//  3. Each doubt makes a repository due: immediately, or, if there were many, at the end
//     of doubtWindow, so that a repeated webhook does not use up the host's rate limit.
//     The schedule makes it due once per interval and spreads the readings.
//  4. A HostAccessDoubted that names a removed user ends the access of that user when
//     projections/accounts applies it; a reading that began earlier does not restore it.
//  5. If a repository was removed, became public or moved to another connection, an empty
//     reading is appended, which revokes access.
//
// # Which process reads
//
// The processes form a consumer group, as in pipeline/discovery. Run has one goroutine per
// connection, so that a host that does not respond delays no other.
//
// # Bounds
//
// Each connection has one request at a time, and reads at most one repository in minPace
// while the schedule catches up. A failing repository is retried after minRetry, which
// doubles with each failure; a failing host pauses its connection for up to maxPause.
//
// The package does not know the users of this server.
package permissions
