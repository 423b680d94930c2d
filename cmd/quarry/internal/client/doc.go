// Package client is the HTTP API of a server as the commands use it.
//
// It answers the question "how does a command ask a server, and what does it
// say when the server is not there?".
//
// # Main types
//
//	Client         one server
//	SearchRequest  and SearchResponse: POST /api/search and /api/stream_search
//	Delivery       and its like: GET /api/deliveries
//	Error          the JSON error object, as an error
//
// # Invariants
//
//  1. Every answer is read up to a bound.
//  2. An error says which server was asked and what to do.
//
// # Concurrency
//
// A Client is safe for concurrent use.
//
// It decodes only the fields that the commands show, and imports nothing of the
// server: the API is the contract.
package client
