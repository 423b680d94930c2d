// Package mcp lets AI agents search and read the repositories through the Model Context
// Protocol.
//
// It answers the question "what does an agent need to find its way through code, in as few
// tokens as possible?". Its main type is Server: the tools, over the same services that
// query/api uses, and the Streamable HTTP transport that query/api serves at /api/mcp.
// query/api checks hosts, origins, credentials and rates first. Each tool is a file of this
// package, named for it; tools.go lists them.
//
// # Stateless requests
//
// Decision: requests are stateless, and session IDs are signed. The protocol revision of
// 2026-07-28 has no sessions; in earlier ones, a server may issue an ID that the client
// repeats. The alternative is sessions in memory, as most servers have them: they end with
// the process, need a sticky load balancer in front of several query processes, and have to
// be bounded and cleaned up. Our tools only read, the server pushes nothing to a client, and
// every request is authenticated separately, so there is no session state. A client of an
// older revision still gets its Mcp-Session-Id: a random number, its expiry and a digest of
// the user it is bound to, under a MAC. Every process with the same secret accepts it. An ID
// of another user is refused (ErrSessionForeign); one that is forged, expired or ended is
// unknown (ErrSessionUnknown). Only the process that receives a DELETE remembers the ended
// session, up to maxEnded IDs. For the same reason there is no stream to open with GET.
//
// # Answers
//
// An answer is one block of text. It begins with counts, cuts long lines, stops at about
// DefaultTokens tokens, or at the number that the call allows, and explains how to request
// the rest. Tools that return JSON on the established server also return JSON here. There is
// no structured content in addition to the text: it would double what a model reads. An
// error is also text, marked isError, and explains what to do next.
//
// # Invariants
//
//  1. A call sees what Options.Index shows its principal: a hidden repository is never
//     found, counted or suggested.
//  2. Each call is bounded in time (CallTimeout) and bytes (MaxTokens), and each principal
//     in concurrent calls (MaxCalls).
//  3. Arguments are checked against the same table that produces their JSON schema.
//  4. Every tool only reads; none changes anything.
//
// All types are safe for concurrent use.
package mcp
