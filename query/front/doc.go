// Package front holds the layers that every HTTP request passes before its handler, and
// every response after it.
//
// It answers the question "may this request proceed, and what is recorded of it?". The
// JSON API, the pages, the tools for AI agents and the event streams use the same layers.
// From the outside in:
//
//	addresses.go  the client's address behind trusted proxies
//	observe.go    request ID, response headers, metrics, log
//	recover.go    panics
//	hosts.go      host names that the server accepts
//	origins.go    pages of other origins (CORS, cross-origin requests)
//	bounds.go     size of the body, time to read and to write
//	admission.go  authentication and authorization; credentials.go
//	limits.go     rate limits and concurrent streams
//	audit.go      the audit record, before the response; refusals.go
//
// routes.go connects the layers to handlers, and pages.go to handlers outside the API.
//
// # Main types
//
//	Front     the layers, created once for a process
//	Route     an operation: method, path, access rule, audit action
//	Exchange  a request and its response, as the layers share them
//	Answer    a response that a handler computes and the front writes
//
// # Invariants
//
//  1. A response that has begun is never followed by another one: after a panic or
//     an error the connection ends. A bare Write or a Flush begins a response, as
//     WriteHeader does.
//  2. Every route has an access rule; Route.Validate returns an error for a route
//     without one, and the zero rule admits no caller.
//  3. A request that cannot be recorded in the audit log gets no data, and a change
//     whose record was not written is not reported as made.
//  4. Streams of owners and streams of events check the credential at each write:
//     revoking the credential ends the stream.
//  5. Everything is bounded: bodies, times, remembered callers, streams, records of
//     refusals. The bounds are named in options.go, limits.go and refusals.go.
//
// A Front is safe for concurrent use and starts no goroutine. It does not know routes,
// response formats or the errors of handlers: Options.ErrorAnswer renders errors.
package front
