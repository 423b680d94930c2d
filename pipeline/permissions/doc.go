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
//	nothing is appended: what was read before grants until it is too old (query/auth)
//
// The main types are Reader, Connection and State.
//
// # Invariants
//
//  1. A reading that is not whole appends nothing: neither does it grant, nor does it make
//     an older one younger.
//  2. A confirmation is only appended if the rows have what the host says, and every event
//     of this process about the repository.
//  3. A doubt has a repository read at once, every time; the schedule has it read within the
//     interval, and spreads the readings.
//  4. A repository that is gone, public or of another connection is taken back.
//
// # Who reads
//
// The members of a consumer group, as in pipeline/discovery. Each connection has one
// goroutine of Run, so that a host that does not answer holds up no other.
//
// # Bounds
//
// One request at a time for each connection, at most one repository in minPace while the
// schedule catches up. Failures of one repository are tried again after minRetry, which
// doubles; those of a host pause its connection, up to maxPause.
//
// It does not know users of this server.
package permissions
