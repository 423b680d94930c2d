// Package boot provides what every daemon needs: a logger, a registry, a run group,
// an HTTP listener that drains, the lock on a data directory, signals and memory
// limits.
//
// It answers the question "how does the process start and stop?".
//
// # Main types
//
//	Group      runs actors, stops them in reverse order, bounds the stop
//	HTTP       one listener as an actor
//	Directory  the exclusive lock on a data directory
//
// # Invariants
//
//  1. Nothing here is global: a process may hold two of everything.
//  2. An actor is stopped only after every actor that was added later has
//     returned, so an actor may rely on those before it until it returns itself.
//  3. Group.Run returns only when every actor has returned, or when the bound on
//     stopping has passed; then its error names those that had not.
//
// # Concurrency
//
// A Group is built on one goroutine and run once. The other types are safe for
// concurrent use.
//
// It knows nothing of configuration files, of the log or of any role.
package boot
