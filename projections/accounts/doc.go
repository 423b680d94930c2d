// Package accounts is the projection of users, their credentials, and the owners'
// decisions on who may see a repository.
//
// It answers the question "who is this, and what is this credential good for?" for
// every request, from memory. The main types are Directory (the projection and its
// readers) and Refusal (why an event had no effect).
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
//  1. Rows are a function of the records of event.TopicAccounts, in their order.
//     The only clock is Event.At.
//  2. An event takes effect as a whole or not at all. One that breaks a rule leaves
//     only a Refusal row.
//  3. Two users never have one e-mail address or one identity; two credentials
//     never have one hash; two keys, or two saved searches, of a user never have one
//     name.
//  4. Once there is an active owner, there always is one.
//  5. A session, key or token has an active user, and a token a key.
//  6. Expired rows are removed with the first event more than expiryGrace later.
//     Until then they are kept: readers check whether something has expired.
//  7. Everything is bounded: MaxUsers and the constants next to it. An event that
//     would exceed a bound is refused, except for the sessions of a user: the one
//     that ends first is removed.
//
// # Concurrency
//
// Readers share a lock with Committed for the time of a map access; the result
// never changes afterwards. Apply and its companions are called by the Runner, from
// one goroutine: the topic has one partition.
//
// This package does not decide whether a user may do something, and sees
// credentials only as keyed hashes.
package accounts
