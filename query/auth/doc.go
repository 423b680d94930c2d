// Package auth says who is asking, and what they may see and do.
//
// It answers the question "who sent this request, and which repositories exist for
// them?". The main types are Principal (the caller), Visible (which repositories
// exist for them), Directory (the accounts, as the projection keeps them) and
// Service (signs in, issues credentials, decides).
//
// # Invariants
//
//  1. An invalid credential is never an anonymous request: it fails.
//  2. What a Principal may not see looks as if it did not exist.
//  3. Credentials are compared in constant time, as keyed hashes; values are
//     neither stored nor logged.
//  4. A change is an event: the Service appends it, waits until the Directory has
//     it, and reads there what happened to it. The Directory, not the Service, holds
//     rules that two processes could break at once: e-mail addresses are unique,
//     the last owner stays, an invitation is good for one.
//  5. A credential gives no more than what made it. What a key or token does ends
//     with it: neither makes keys, ends sessions nor changes a password, and an
//     invitation ends with the owner who made it.
//  6. Whether an e-mail address has an account shows neither in answers nor in
//     their time, to those who have no account.
//  7. Work and memory that strangers can cause are bounded: hashing.go, throttle.go.
//
// All types are safe for concurrent use.
package auth
