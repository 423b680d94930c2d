// Package mcp lets AI agents search and read the repositories, by the Model
// Context Protocol.
//
// It answers the question "what does an agent need to find its way through code,
// in as few tokens as it takes?". Main type: Server, the tools over the same
// services that query/api asks, and the Streamable HTTP transport that query/api
// serves at /api/mcp: it checks hosts, origins, credentials and rates before. A tool
// is a file of this package, named for it; tools.go lists them.
//
// # Nothing is kept between requests
//
// Decision: requests are stateless, and session IDs are signed. The protocol's
// revision of 2026-07-28 has no sessions; in the ones before a server may hand out
// an ID that the client repeats. Considered were sessions in memory, as most
// servers have them: they end with the process, need a sticky balancer in front of
// several query processes, and have to be bounded and swept. Our tools only read,
// nothing is pushed to a client, and every request is authenticated by itself, so
// there is nothing to keep. Still a client of the older revisions gets its
// Mcp-Session-Id: a random number, when it ends and a digest of whom it is bound
// to, under a MAC. Every process with the same secret understands it. Somebody
// else's is refused (ErrSessionForeign), one that is forged, over or ended is
// unknown (ErrSessionUnknown). What was ended with DELETE is remembered in the
// process that was told, up to maxEnded IDs. For the same reason there is no stream
// to open with GET.
//
// # Answers
//
// An answer is one block of text. It begins with counts, cuts long lines, stops
// at some DefaultTokens tokens, or those that the call allows, and says how to ask for
// what is missing. Where the established
// server answers JSON, so does this. There is no structured content beside the
// text: it would double what a model reads. A failure is text too, marked isError,
// and says what to do next.
//
// # Invariants
//
//  1. A call sees what Options.Sight shows its principal: a hidden repository is not
//     found, not counted, not suggested.
//  2. A call has a bound in time (CallTimeout), in bytes (MaxTokens), and each
//     principal one in calls at once (MaxCalls).
//  3. Arguments are checked against the same table that makes their JSON schema.
//  4. Nothing is changed: every tool reads.
//
// All types are safe for concurrent use.
package mcp
