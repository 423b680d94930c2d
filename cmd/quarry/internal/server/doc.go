// Package server joins the parts of every role into one process.
//
// It answers the question "which parts run in a process, and how are they connected?".
// Each part declares the interfaces that it needs and does not know the other parts; this
// package connects them.
//
// # Main types
//
//	Server          a server of quarry serve: Open, Run, Close
//	OfflineRebuild  a quarry replay while the server is stopped
//
// # Order
//
//	opened     directory lock, log, segment store, projections, mirrors
//	started    projections, worker, compactor, HTTP
//	draining   not ready, but still answering, if a load balancer probes the process
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
//  2. Everything that is opened is closed, even if a later step fails.
//
// # Concurrency
//
// Open and Close are called once each; Run blocks between them.
//
// This package contains no logic of the parts and declares no settings.
package server
