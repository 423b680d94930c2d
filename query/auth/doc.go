// Package auth identifies callers and decides what they may see and do.
//
// It answers the question "who sent this request, and which repositories exist for that
// caller?". The main types are Principal (the caller), Visible (which repositories exist
// for the caller), Directory (the accounts, as the projection maintains them) and Service
// (signs users in, issues credentials, decides).
//
// # Invariants
//
//  1. An invalid credential never becomes an anonymous request: it fails.
//  2. What a Principal may not see looks as if it did not exist.
//  3. Credentials are compared in constant time, as keyed hashes; values are
//     neither stored nor logged.
//  4. A change is an event: the Service appends it, waits until the Directory has
//     applied it, and reads the result there. The Directory, not the Service, enforces
//     rules that two concurrent processes could break: e-mail addresses are unique,
//     the last owner stays, an invitation is valid for one user.
//  5. A credential grants no more than the credential that created it. What a key or
//     token does ends with it: it cannot create keys, end sessions or change a
//     password, and an invitation ends with the owner who created it.
//  6. Neither the content nor the timing of a response tells callers without an
//     account whether an e-mail address has one.
//  7. Work and memory that strangers can cause are bounded: hashing.go, throttle.go.
//
// All types are safe for concurrent use.
package auth
