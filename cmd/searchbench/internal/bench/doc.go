// Package bench measures Quarry and zoekt side by side and fills the table of docs/performance.md.
//
// It answers: is Quarry as fast, as small and as fresh as its goals say, on this machine, now?
//
// Run takes the steps of Steps in order, for each program that is there; each can be taken alone. The programs are measured one after the other,
// never at the same time, so that neither takes the other's cores. Ripgrep runs the scans on the checkouts last.
//
//	imports.go, core.go, cold.go          before a server is queried
//	source.go, timing.go                  one server that is queried, one query after the other
//	load.go, heavy.go, stable.go          many queries
//	stream.go, bandwidth.go               answers in parts; the memory bandwidth
//	pushes.go                             freshness
//	zoekt.go, quarry.go, ripgrep.go       the order of steps for each program
//	ledger.go                             figures of an earlier run
//	goals.go, *rows.go, tables.go         what is compared with what, and how it is printed
//
// Invariants
//
//  1. The corpora are never written to: repositories that receive pushes are clones in the work directory.
//  2. A step that fails is reported under "not measured" with its reason; the others go on.
//  3. What is taken from an earlier run (ledger.go) is counted, and the report says that it is not of one run.
//  4. Every loop has a bound in count and in time (constants in this package).
package bench
