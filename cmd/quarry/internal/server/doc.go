// Package server joins the parts of every role into one process.
//
// It answers the question "which part gets what from which other?". The parts
// declare what they need where they need it and do not know each other; this
// package is where both sides meet.
//
// # Main types
//
//	Server   what quarry serve runs: Open, Run, Close
//	Rebuild  what quarry replay does with the server stopped
//
// # Order
//
//	opened     directory lock, log, segment store, projections, mirrors
//	started    projections, worker, compactor, HTTP
//	stopped    in reverse: requests first, the projections last
//	closed     in reverse, once everything has stopped
//
// # Versions of the projections
//
//	versions  holds the live one; a reader acquires it, and keeps it to its end
//	replays   makes others, one at a time, as api.Replays
//
//	build next to live ──► wait for the live one ──► CURRENT ──► live.Store ──► stop what
//	followed for the old ──► hand over metrics and deletions ──► follow for the new
//	──► once the old one has no readers: close it
//
// If a process dies before CURRENT is replaced, the old version is live, afterwards
// the new one; both are complete.
//
// # Adapters
//
//	views.go      places.View as search.View
//	catalog.go    the catalog as api.Catalog, api.Status and webhook.Repositories
//	deliveries.go the ledger as api.Deliveries
//	deadletters.go  the dead letters as api.DeadLetters
//	registrar.go  the log as api.Registrar, with the policy on clone URLs
//	numbering.go  numbers of what the catalog has, before the API shows it
//	log.go        the log's drivers, and the log as projections.Tailer
//	kafka.go      the settings of log.kafka as kafkalog.Options, and its topics
//	topics.go     what is there of the topics, and what should be
//	pages.go      pages and API on one listener, and the providers of single sign-on
//	positions.go  how far the projections are, as a group of the log
//
// # Invariants
//
//  1. Only openLog depends on which driver the log has.
//  2. A part of a role that the process does not have is not constructed.
//  3. What is opened is closed, whatever fails after it.
//  4. The store of a version is open for as long as it has users; one version at a time
//     follows the log with dead letters, metrics and deletions.
//
// # Concurrency
//
// Open and Close are called once each; Run blocks between them.
//
// It has no logic of the parts, and no settings.
package server
