// Package bridge relays messages of the Model Context Protocol between the standard
// streams of a process and a server's /api/mcp, for clients that start their servers as
// programs.
//
// It answers the question "how does an agent that speaks over pipes reach a server that
// speaks HTTP?". Main type: Bridge. Every message is a separate request: the server keeps
// no state between them, so it may restart at any time.
//
// # Invariants
//
//  1. The output contains only messages, one on each line. Errors are reported on the
//     log, and to the client in the response to its request.
//  2. Every request gets one response, unless the client has canceled it.
//  3. A line has at most MaxLine bytes, and at most maxAtOnce requests run at a time.
//
// Run starts a goroutine for each request, and returns when all have ended.
package bridge
