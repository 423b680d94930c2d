// Package accounts is the projection of users, what they sign in with, and what
// owners decided on who may see a repository.
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
//	a f offset(8)          → Refusal: the event at that offset had no effect
//
// # Invariants
//
//  1. Rows are a function of the records of event.TopicAccounts, in their order.
//     The only clock is Event.At.
//  2. An event takes effect as a whole or not at all. One that breaks a rule leaves
//     a Refusal and no other row of its own.
//  3. Two users never have one e-mail address or one identity; two credentials
//     never have one hash; two keys of a user never have one name.
//  4. Once there is an active owner there is one for ever.
//  5. A session, key or token has an active user, and a token a key.
//  6. What has expired is gone behind the first event more than expiryGrace later.
//     Until then it stands there: whether something has expired is for readers to
//     see.
//  7. Everything is bounded: MaxUsers and the constants beside it. What would exceed
//     a bound is refused, but for the sessions of a user, of which the one that ends
//     first makes room.
//
// # Concurrency
//
// Readers share a lock with Committed for the time of a map access; what they get
// is never changed afterwards. Apply and its companions are called by the Runner,
// from one goroutine: the topic has one partition.
//
// Whether somebody may do something is not decided here, nor is any credential seen
// but by its keyed hash.
package accounts
