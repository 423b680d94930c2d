// Package compare measures two builds of Quarry, and zoekt, side by side.
//
// It answers: is this build slower, larger or less fresh than an earlier one, on queries
// that it was not tuned for?
//
// Unlike package bench, which measures one program after the other, all programs run at
// the same time on indexes of their own and get each request in turn, so that a change of
// the machine's speed meets all of them. What is compared is always the ratio of
// this build's median to that of another program.
//
//	program.go    what is measured: quarry serve, zoekt-webserver
//	compare.go    the order of the steps
//	queries.go    queries in turn
//	rest.go       imports, clients, pushes, counts against ripgrep
//	verdict.go    the bounds
//	tables.go     the report
//
// # Bounds
//
// Bounds are those of a gate: a build that exceeds one is worse. A group of queries that
// exceeds its bound by little is asked again on new indexes before it counts: two imports
// by one build differ in their segments, and so by a few percent in their times.
//
// # Invariants
//
//  1. The corpora are never written to: programs import a clone of the repository that receives pushes.
//  2. This build is the first program; it runs every step.
//  3. Every query has a bound in time (queryBudget), and both builds get the same number of runs of it.
package compare
