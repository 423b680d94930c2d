// Package boot provides what every server process needs: a logger, a registry, a run
// group, an HTTP listener that drains, signals and memory limits.
//
// It answers the question "how does the process start and stop?".
//
// # Main types
//
//	Group        runs actors, stops them in reverse order, bounds the time of the stop
//	HTTP         one listener as an actor
//	Connections  limits on the open connections of a listener
//
// # Invariants
//
//  1. Nothing here is global: a process may have two of everything.
//  2. An actor is stopped only after every actor that was added later has
//     returned, so an actor may rely on earlier actors until it returns itself.
//  3. Group.Run returns only when every actor has returned, or when the time for
//     stopping is over; then its error names the actors that still run.
//
// # Concurrency
//
// A Group is built on one goroutine and run once. The other types are safe for concurrent
// use.
//
// This package knows nothing of configuration files, the log or roles.
package boot
