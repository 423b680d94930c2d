// Package front is what every HTTP request passes before a handler, and every
// response after it.
//
// It answers the question "may this request go on, and what is kept of it?". The
// JSON API, the pages, the tools for AI agents and the event streams use the same
// layers. From outside in:
//
//	addresses.go  the client's address behind trusted proxies
//	observe.go    request ID, response headers, metrics, log
//	recover.go    panics
//	hosts.go      host names that the server accepts
//	origins.go    pages of other origins (CORS, cross-origin requests)
//	bounds.go     size of the body, time to read and to write
//	admission.go  authentication and authorization; credentials.go
//	limits.go     rate limits and streams at once
//	audit.go      the audit record, before the response; refusals.go
//
// routes.go joins them to handlers, pages.go to handlers outside of the API.
//
// # Main types
//
//	Front     the layers, made once for a process
//	Route     what a request may be: method, path, access rule, audit action
//	Exchange  a request and its response, as the layers share them
//	Answer    a response that a handler computes and the front writes
//
// # Invariants
//
//  1. A response that has begun is never followed by another one: after a panic or
//     an error the connection ends. A bare Write and a Flush begin a response, as
//     WriteHeader does.
//  2. Every route has an access rule; Route.Validate returns an error for one that has
//     none, and a zero rule admits no caller.
//  3. A request that cannot be recorded in the audit log gets no data, and a change
//     whose record was not written is not reported as made.
//  4. A credential is checked for each write of an owner's stream, and of one that
//     follows events: one that is revoked ends the stream.
//  5. Everything is bounded: body, time, callers that are remembered, streams, records
//     of refusals. The bounds are named in options.go, limits.go and refusals.go.
//
// A Front is safe for concurrent use and starts no goroutine. It knows no route, no
// format of a response and no error of a handler: Options.ErrorAnswer renders errors.
package front
