// Package connections shows what the connections of the settings do at their code hosts.
//
// It answers the question "what does this connection find, and does its host send
// pushes?".
//
// # Files
//
//	connectivity.go  the last and the next sync of each connection and the readings of its
//	                 permissions, as api.Connectivity
//	check.go         what connections would find, for quarry connections check
//	preview.go       what a connection would find that the settings do not have, for a page
//	hooks.go         registers their webhooks, for quarry hooks
//
// # Invariants
//
//  1. A check and a registration of webhooks work without a server, and append nothing.
//  2. A repository that a check lists would be registered: a check applies the same
//     policy on clone URLs as the server.
//
// # Concurrency
//
// Connectivity is safe for concurrent use. The other functions keep no state.
//
// This package does not decide when to sync: pipeline/discovery does.
package connections
