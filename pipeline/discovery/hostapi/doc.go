// Package hostapi sends requests to the APIs of code hosts.
//
// It answers the question "what does the host respond, and if it does not, why?" in one
// way for all kinds of hosts. Transport is the http.RoundTripper of every client,
// including library clients; a client receives complete JSON responses with status 2xx,
// or an Error with a Code.
//
//	client ──► Transport: gate ─► condition ─► attempt ─► classify ──► answer or Error
//	              rate limits    If-None-Match   │  ▲
//	                                             └──┘ retry with jitter
//
// # Main types
//
//	Transport  rate limits, conditional requests, retries, bounds
//	Cache      responses with their ETag, compressed
//	Error      the reason of a failed request: Code, status, detail
//
// # Invariants
//
//  1. A response is read completely, up to MaxBodyBytes, before the client receives it:
//     if a host stops in the middle, the attempt has failed.
//  2. If a response may have been lost, only requests without an effect are retried;
//     other requests are retried only if the host reported that it did nothing (429, 503
//     with Retry-After).
//  3. No request is sent before the time that the host named in a rate limit or in
//     Retry-After. If the wait exceeds MaxWait, the result is an Error with the Code
//     RateLimited.
//  4. Credentials are sent only to the host of the first request: a redirect to another
//     host is an Error.
//
// A Transport belongs to one connection, so the responses in its Cache were requested
// with its credentials. It is safe for concurrent use and starts no goroutine.
//
// The package knows no paths of hosts and no repositories.
package hostapi
