// Package client sends requests to a Quarry server.
//
// It answers the question "how does a Go program search, and administer, a
// server?". There is a method for every operation of the OpenAPI document, written
// by make generate; bodies are the structs of package wire.
//
//	c, err := client.New("https://code.example", client.Options{APIKey: key})
//	answer, err := c.Search(ctx, wire.SearchRequest{Query: "boil lang:go", Matches: 100})
//
// # Main types
//
//	Client   one server
//	Options  the credential, and how often to try again
//	Error    an error returned by the server
//	Page     a page of a list; methods ending in All go through all of them
//
// # Invariants
//
//  1. Every answer is read up to a bound: MaxAnswerBytes, MaxFrameBytes.
//  2. A request that was not accepted (429, 503) is sent again at most
//     Options.Retries times, after the time in Retry-After and at most
//     Options.MaxWait. One that may change something is sent again after a 429 only:
//     its 503 may hide a change.
//  3. A credential is sent to the server alone: links of another origin are refused,
//     and so are redirections to one.
//
// # Concurrency
//
// A Client is safe for concurrent use.
//
// It imports the standard library and package wire, and nothing of the server: the
// API is the contract.
package client
