// Package bench measures Quarry and zoekt side by side and fills the table of
// docs/performance.md.
//
// It answers: is Quarry as fast, as small and as fresh as its goals require, on this
// machine, now?
//
// Run runs the steps of Steps in order, for each available program; each step can also be
// run alone. The programs are measured one after the other, never at the same time, so
// that neither takes the other's cores. Ripgrep runs the scans on the checkouts last.
//
//	imports.go, core.go, cold.go          before a server is queried
//	source.go, timing.go                  one server, one query after the other
//	load.go, heavy.go, stable.go          many queries
//	stream.go, bandwidth.go               streamed answers; the memory bandwidth
//	pushes.go                             freshness
//	zoekt.go, quarry.go, ripgrep.go       the order of steps for each program
//	ledger.go                             figures of an earlier run
//	goals.go, *rows.go, tables.go         the comparisons, and how they are printed
//
// Invariants
//
//  1. The corpora are never written to: repositories that receive pushes are clones in the work directory.
//  2. A step that fails is reported under "not measured" with its reason; the other steps continue.
//  3. Figures from an earlier run (ledger.go) are counted, and the report states that it combines runs.
//  4. Every loop has a bound in count and in time (constants in this package).
package bench
