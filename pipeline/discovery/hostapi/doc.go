// Package hostapi sends requests to the APIs of code hosts.
//
// It answers the question "what does the host say, and if it does not say it, why?" in
// one way for all kinds of hosts. Transport is the http.RoundTripper below every client,
// by hand or by a library; a client sees whole JSON answers with status 2xx, or an Error
// with a Code.
//
//	client ──► Transport: gate ─► condition ─► attempt ─► classify ──► answer or Error
//	              rate limits    If-None-Match   │  ▲
//	                                             └──┘ retry with jitter
//
// # Main types
//
//	Transport  rate limits, conditional requests, retries, bounds
//	Cache      answers with their ETag, compressed
//	Error      why a request failed: Code, status, target
//
// # Invariants
//
//  1. An answer is read whole, at most MaxBodyBytes, before the client sees it: a host
//     that stops in the middle is a failed attempt.
//  2. Only requests without an effect are retried after an answer may have been lost;
//     others only where the host said that it did nothing (429, 503 with Retry-After).
//  3. No request leaves before the time that the host named, in a rate limit or in
//     Retry-After. A wait longer than MaxWait is an Error with the Code RateLimited.
//  4. Credentials go to the host of the first request only: redirects to another host
//     are an Error.
//
// A Transport belongs to one connection, so that answers in its Cache were asked for
// with its credentials. It is safe for concurrent use and starts no goroutine.
//
// The package knows no host's paths and no repository.
package hostapi
