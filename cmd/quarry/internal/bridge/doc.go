// Package bridge carries messages of the Model Context Protocol between the
// standard streams of a process and a server's /api/mcp, for clients that start
// their servers as programs.
//
// It answers the question "how does an agent that speaks over pipes reach a server
// that speaks HTTP?". Main type: Bridge. Every message is a separate request: the
// server keeps no state between them, so it may restart at any time.
//
// # Invariants
//
//  1. On the output there is nothing but messages, one a line. What went wrong is
//     said on the log, and to the client as the answer to its request.
//  2. Every request gets one answer, unless the client has cancelled it.
//  3. Lines are at most MaxLine bytes, requests at once at most maxAtOnce.
//
// Run starts a goroutine for each request, and returns when all are gone.
package bridge
