// Package secrets keeps the secrets of a data directory.
//
// It answers the question "which secret keys the credentials, and is it still the one that
// was made?".
//
// # Files
//
//	secret.key      64 hexadecimal characters; made at the first start unless the settings
//	                have access.secret
//	secret.key.sum  a checksum of it: with one wrong bit every credential would be refused
//	operator.token  proves access to the data directory
//
// # Invariants
//
//  1. A file is replaced whole and durably, and only the user of the process may read it.
//  2. A secret that is lost or damaged is never replaced by another: the start fails with
//     what to do.
//  3. No error and no log line contains a secret.
//
// # Concurrency
//
// The process holds the data directory; its functions are called at the start, by one
// goroutine.
//
// It does not know what the secrets are used for.
package secrets
