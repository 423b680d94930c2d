// Package diskspace watches the disks that a process writes to.
//
// It answers the question "is there space to write?".
//
// # Main types
//
//	Guard    measures the disks, and reports which are low
//	reserve  a file that reserves space; it is removed when the stores need the space
//
// # Bounds
//
//	storage.minFreeBytes       below it the process only reads
//	half of it                 below it removals are refused as well
//	tightBytes                 below it a store's write waits, or uses the reserve
//
// # Invariants
//
//  1. Unknown counts as enough: a disk that cannot be measured stops nothing.
//  2. No error contains a path, because errors are shown to callers.
//  3. Writes that wait for space stop waiting when Run or Close ends.
//
// # Concurrency
//
// A Guard is safe for concurrent use. New starts no goroutine; Run blocks.
//
// This package removes no file but the reserves, and does not know the contents of the
// directories.
package diskspace
