// Package operator proves to a server on the same machine that a program may read the
// server's data directory.
//
// It answers the question "which credential does a command send, and where?". A server
// keeps a token in its data directory, in a file that only its user may read; a caller
// with the token is the operator, who may do everything. While a server has no owner, the
// link that creates the first owner is in another such file.
//
// # Invariants
//
//  1. The token is sent only to this machine's own addresses.
//  2. It is read on first use, and no message contains it.
//
// All functions are safe for concurrent use.
package operator
