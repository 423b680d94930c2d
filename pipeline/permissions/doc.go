// Package permissions reads who may read the private repositories of connections at their code
// hosts, and keeps that fresh.
//
// It answers the question "which users may read this repository at its host, and as of when?".
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
//  1. An incomplete reading appends nothing: it neither grants access nor extends the time
//     for which an older reading counts.
//  2. A confirmation is appended only if the rows equal what the host says and include
//     every event that this process appended for the repository.
//  3. Each doubt makes a repository due: at once, or at the end of doubtWindow if there were
//     many, so that a repeated webhook does not use up the rate limit of the host. The
//     schedule makes it due once in an interval, and spreads the readings.
//  4. If a repository was removed, is public now or belongs to another connection, an empty
//     reading is appended: access is revoked.
//
// # Who reads
//
// The members of a consumer group, as in pipeline/discovery. Each connection has one
// goroutine of Run, so that a host that does not answer holds up no other.
//
// # Bounds
//
// Each connection has one request at a time, and reads at most one repository in minPace
// while the schedule catches up. A repository that fails is retried after minRetry, which
// doubles with each failure; a host that fails pauses its connection for up to maxPause.
//
// It does not know users of this server.
package permissions
