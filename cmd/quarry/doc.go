// Quarry is self-hosted code search: the one binary, server and command line.
//
// It answers the question "how do I run it, fill it and ask it?".
//
//	quarry serve          all roles, or some: ingest, pipeline, query
//	quarry index          register repositories, wait until they are searchable
//	quarry search         ask, and print like ripgrep
//	quarry events tail    the log as JSON lines
//	quarry deliveries     what was delivered, and what became of it
//	quarry dlq            records that were given up: list, show, replay, drop
//	quarry replay         rebuild the projections from the log, return to those before,
//	                      or show the index as it was
//	quarry topics         the topics of the log: how they are and should be
//	quarry users          users: list, approve, suspend, reinstate, role, remove
//	quarry keys           API keys: list, create, delete
//	quarry invite         a link by which somebody becomes a user
//	quarry version
//
// # Parts
//
//	main.go, one file per command   flags and exit codes
//	internal/server                 joins the parts of every role into a run group
//	internal/terminal               colours and the progress display
//
// # Exit codes
//
//	0  done; search: something was found
//	1  it failed; index: some repository failed; search: nothing was found
//	2  it was used wrongly; search: it failed
//
// # Invariants
//
//  1. Only serve, replay and, for the embedded log, topics open a data directory,
//     and all hold its lock.
//  2. Results go to standard output, everything else to standard error.
//  3. An interrupt ends a command; it never leaves the server inconsistent,
//     since what was asked of it goes on there. A replay is the exception: it is
//     stopped.
//
// It declares no setting (see config) and holds no logic of a part.
package main
