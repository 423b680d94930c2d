// Package mcp lets AI agents search and read the repositories, by the Model
// Context Protocol.
//
// It answers the question "what does an agent need to find its way through code, in
// as few tokens as it takes?". Main type: Server, the tools over the same services
// that query/api uses, and the Streamable HTTP transport that query/api serves at
// /api/mcp: it checks hosts, origins, credentials and rates before. A tool is a
// file of this package, named for it; tools.go lists them.
//
// # Nothing is kept between requests
//
// Decision: requests are stateless, and session IDs are signed. The protocol's
// revision of 2026-07-28 has no sessions; in earlier ones a server may issue an ID
// that the client repeats. The alternative was sessions in memory, as most servers
// have them: they end with the process, need a sticky load balancer in front of
// several query processes, and have to be bounded and cleaned up. Our tools only
// read, the server pushes nothing to a client, and every request is authenticated
// by itself, so there is no session state. A client of the older revisions still
// gets its Mcp-Session-Id: a random number, its expiry and a digest of the user it
// is bound to, under a MAC. Every process with the same secret accepts it. An ID of
// another user is refused (ErrSessionForeign); one that is forged, expired or ended
// is unknown (ErrSessionUnknown). A session ended with DELETE is remembered only by
// the process that received the request, up to maxEnded IDs. For the same reason
// there is no stream to open with GET.
//
// # Answers
//
// An answer is one block of text. It begins with counts, cuts long lines, stops at
// some DefaultTokens tokens, or at the number that the call allows, and says how to
// request the rest. Tools that return JSON on the established server return JSON
// here too. There is no structured content in addition to the text: it would double
// what a model reads. An error is text too, marked isError, and says what to do
// next.
//
// # Invariants
//
//  1. A call sees what Options.Index shows its principal: a hidden repository is not
//     found, not counted, not suggested.
//  2. A call has a bound in time (CallTimeout), in bytes (MaxTokens), and each
//     principal one in calls at once (MaxCalls).
//  3. Arguments are checked against the same table that makes their JSON schema.
//  4. Nothing is changed: every tool reads.
//
// All types are safe for concurrent use.
package mcp
