// Package server joins the parts of every role into one process.
//
// It answers the question "which part gets what from which other?". The parts
// declare what they need where they need it and do not know each other; this
// package is where both sides meet.
//
// # Main types
//
//	Server          what quarry serve runs: Open, Run, Close
//	OfflineRebuild  what quarry replay does with the server stopped
//
// # Order
//
//	opened     directory lock, log, segment store, projections, mirrors
//	started    projections, worker, compactor, HTTP
//	stopped    in reverse: requests first, the projections last
//	closed     in reverse, once everything has stopped
//
// # Adapters
//
//	live.go       the log and the pipeline as live.Options
//	pages.go      pages and API on one listener, and the providers of single sign-on
//
// # Invariants
//
//  1. A part of a role that the process does not have is not constructed.
//  2. What is opened is closed, whatever fails after it.
//
// # Concurrency
//
// Open and Close are called once each; Run blocks between them.
//
// It has no logic of the parts, and no settings.
package server
