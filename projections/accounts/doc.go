// Package accounts is the projection of users, their credentials, and the owners'
// decisions on who may see a repository.
//
// It answers the question "who is this, and what does this credential permit?" for every
// request, from memory. The main types are Directory (the projection and its readers) and
// Refusal (why an event had no effect).
//
//	quarry.accounts ──► Runner ──► Directory.Apply ──► rows, in a store of their own
//	                                     │ Committed
//	                                     ▼
//	                               state in memory ◄── readers
//
// # Keys
//
// All keys begin with the family 'a' and a kind. Integers are big-endian; values
// are JSON. docs/format/accounts.md describes them.
//
//	a u user ID            → userRow
//	a i invitation ID      → invitationRow
//	a s session ID         → sessionRow
//	a k key ID             → keyRow
//	a t token ID           → tokenRow
//	a r repository(8)      → accessRow
//	a q saved search ID    → savedSearchRow
//	a h repository(8)      → hostAccessRow
//	a d connection 0 repository(8) → time of a HostAccessDoubted
//	a f offset(8)          → Refusal: the event at that offset had no effect
//
// # Invariants
//
//  1. Rows depend only on the records of event.TopicAccounts, in their order. The only
//     clock is Event.At.
//  2. An event takes effect completely or not at all. An event that breaks a rule leaves
//     only a Refusal row.
//  3. No two users have the same e-mail address or identity, no two credentials the same
//     hash, and no two keys or two saved searches of a user the same name.
//  4. Once there is an active owner, there always is one.
//  5. A session, key or token has an active user, and a token a key.
//  6. The first event more than expiryGrace after their expiry removes expired rows.
//     Readers must check whether a row has expired.
//  7. Everything is bounded: MaxUsers and the constants next to it. An event that would
//     exceed a bound is refused, except for the sessions of a user: the one with the
//     earliest expiry is removed.
//
// # Concurrency
//
// Readers share a lock with Committed for the duration of a map access; results are
// immutable. The Runner calls Apply, Committed, Discarded and Publish from one goroutine,
// because the topic has one partition.
//
// This package does not decide whether a user may do something, and sees
// credentials only as keyed hashes.
package accounts
