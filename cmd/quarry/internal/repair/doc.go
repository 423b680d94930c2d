// Package repair finds what an installation has lost, and has it restored.
//
// It answers the question "what is missing or damaged, and where does it come from
// again?". The log is the truth, and git has the text: everything else can be made
// again.
//
// # Main types
//
//	StoreChecker  compares the segment store with the live projections
//	Reindexer     requests that refs are indexed from scratch
//	Restorer      restores segments of the projections that cannot be read
//	Scrubber      reads all files slowly, to find damage before a reader does
//
// # What comes from where
//
//	segment store lacks a segment      written again from the projections, byte by byte
//	projections cannot read a segment  taken from the segment store
//	neither has it                     its refs are indexed again from git
//	rows of a store are damaged        marked; the next start rebuilds them from the log
//	an object is damaged               moved to the quarantine, then as if it were missing
//
// # Invariants
//
//  1. Nothing is requested before the projections have caught up with the log: what a
//     merge took looks lost until then.
//  2. A ref is requested only if two checks find the same missing, and again only after
//     minRepairWait, then after twice as long each time.
//  3. A version of the past is never changed.
//
// # Concurrency
//
// Run of each type blocks until its context ends. Methods of StoreChecker and Restorer are
// safe for concurrent use; a Reindexer and a Scrubber belong to one goroutine, but for
// BrokenRefs.
//
// It knows one version of the projections at a time, and does not switch between them.
package repair
