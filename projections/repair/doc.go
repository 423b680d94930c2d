// Package repair finds what an installation has lost, and restores it.
//
// It answers the question "what is missing or damaged, and how is it restored?". The log
// is the source of truth, and git has the text: everything else can be rebuilt from them.
//
// # Main types
//
//	StoreChecker     compares the segment store with the live projections
//	Reindexer        requests that refs are re-indexed from scratch
//	MirrorRequester  requests that lost mirrors are fetched again
//	Restorer         restores the segments of the projections that NoteDamage names
//	Scrubber         reads all files slowly, to find damage before a reader does
//
// # Sources of a repair
//
//	segment store lacks a segment      rewritten from the projections, byte by byte
//	projections cannot read a segment  copied from the segment store
//	neither has it                     its refs are re-indexed from git
//	rows of a store are damaged        marked; the next start rebuilds them from the log
//	an object is damaged               moved to the quarantine, then handled as missing
//	a mirror is missing                fetched from the code host once a reader needs it
//
// # Invariants
//
//  1. Nothing is requested before the projections have caught up with the log: until
//     then, documents that a merge moved look lost.
//  2. A ref is requested only if two checks find the same documents missing, and again
//     only after minRepairWait, which doubles each time. The same interval is between
//     two requests for a mirror.
//  3. A version of the past is never changed.
//
// # Concurrency
//
// Run of each type blocks until its context ends. Methods of StoreChecker, Restorer and
// MirrorRequester are safe for concurrent use. A Reindexer, except for BrokenRefs, and a
// Scrubber belong to one goroutine.
//
// This package knows one version of the projections at a time, and does not switch
// versions.
package repair
