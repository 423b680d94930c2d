// Package secrets keeps the secrets of a data directory.
//
// It answers the question "which secret is the key of the credential hashes, and is it
// unchanged?".
//
// # Files
//
//	secret.key      64 hexadecimal characters; created at the first start unless the
//	                settings contain access.secret
//	secret.key.sum  its checksum: with one wrong bit every credential would be refused
//	operator.token  proves access to the data directory
//
// # Invariants
//
//  1. A file is replaced atomically and durably, and only the user of the process may
//     read it.
//  2. A lost or damaged secret is never replaced with a new one: the start fails with an
//     error that names the remedy.
//  3. No error and no log line contains a secret.
//
// # Concurrency
//
// The process holds the data directory. The functions are called at the start, by one
// goroutine.
//
// This package does not know what the secrets are used for.
package secrets
