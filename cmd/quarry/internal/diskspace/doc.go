// Package diskspace watches the disks that a process writes to.
//
// It answers the question "is there space to write?".
//
// # Main types
//
//	Guard    measures the disks, and says which are low
//	reserve  a file that takes space while there is enough, for the stores when there is none
//
// # Bounds
//
//	storage.minFreeBytes       below it the process only reads
//	half of it                 below it removals are refused as well
//	tightBytes                 below it a store's write waits, or takes the reserve
//
// # Invariants
//
//  1. What is not known counts as enough: a disk that cannot be measured stops nothing.
//  2. No error names a path: errors are shown to callers.
//  3. Writes that wait for space end when Run or Close ends.
//
// # Concurrency
//
// A Guard is safe for concurrent use. New starts no goroutine; Run blocks.
//
// It removes no file but the reserves, and does not know what the directories hold.
package diskspace
