// Package bench measures a build of Quarry next to an earlier one, to zoekt and to
// ripgrep, and fills the tables of docs/performance.md.
//
// It answers: is this build slower, larger or less fresh than an earlier one, on queries
// that it was not tuned for, and does it reach its goals?
//
// All programs run at the same time on indexes of their own and get each request in turn,
// so that a change of the machine's speed meets all of them. What is compared is always
// the ratio of this build's median to that of another program.
//
//	program.go    what is measured: quarry serve, zoekt-webserver
//	bench.go      the steps in order
//	imports.go    imports, cold starts, pushes, memory and disk
//	ask.go        queries in turn
//	steps.go      clients, repeated and streamed requests, scans, counts against ripgrep
//	core.go       the core of indexing, with segments.go, which a separate process runs
//	growth.go     sizes of one corpus in place of programs
//	verdict.go    the bounds and the goals
//	tables.go     the report
//
// # Bounds and goals
//
// Bounds are those of a gate: a build that exceeds one is worse than the earlier one. A
// group of queries that exceeds its bound by little is asked again on new indexes before
// it counts: two imports by one build differ in their segments, and so by a few percent
// in their times. Goals are parts of zoekt's figures and absolute limits; a report without
// an earlier build names those that are missed.
//
// # Invariants
//
//  1. The corpora are never written to: programs import a clone of the repository that receives pushes.
//  2. This build is the first program; it runs every step.
//  3. Every query has a bound in time (queryBudget), and both builds get the same number of runs of it.
//  4. Without an earlier build, a step that fails is named with its reason, and the others continue.
package bench
