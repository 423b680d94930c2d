// Package operator is how a program shows a server on the same machine that it may
// read the server's data directory.
//
// It answers the question "which credential does a command send, and to whom?". A
// server keeps a token in its data directory, in a file that its user alone may
// read; whoever sends it is the operator, who may do everything. While a server has
// no owner, the link that makes the first one lies in another such file.
//
// # Invariants
//
//  1. The token goes to this machine's own addresses and to nobody else.
//  2. It is read when it is first needed, and shown in no message.
//
// All functions are safe for concurrent use.
package operator
