// Package server joins the parts of every role into one process.
//
// It answers the question "which part gets what from which other?". The parts
// declare what they need where they need it and do not know each other; this
// package is where both sides meet.
//
// # Main types
//
//	Server   what quarry serve runs: Open, Run, Close
//	Rebuild  what quarry replay does: projections from the log, beside or compared
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
//	views.go      places.View as search.View
//	catalog.go    the catalog as api.Catalog, api.Status and webhook.Repositories
//	deliveries.go the ledger as api.Deliveries
//	registrar.go  the log as api.Registrar, behind the policy on clone URLs
//	log.go        the log's drivers, and the log as projections.Tailer
//
// # Invariants
//
//  1. Nothing asks which driver the log has but openLog.
//  2. A part of a role that the process does not have is not constructed.
//  3. What is opened is closed, whatever fails after it.
//
// # Concurrency
//
// Open and Close are called once each; Run blocks between them.
//
// It holds no logic of a part, and no setting of its own.
package server
