// Package disk locks directories and measures the space of file systems.
//
// It answers the questions "does another process use this directory?" and "how much space
// is left?".
//
// # Main types
//
//	Directory  the exclusive lock on a directory, which ends with the process
//	Space      free bytes and files of a file system
//
// # Invariants
//
//  1. A lock ends with its process, even after a crash, and no child process keeps it.
//  2. Allocate leaves no file behind if it fails.
//
// # Concurrency
//
// All functions are safe for concurrent use, and a Directory belongs to one goroutine.
//
// This package does not decide what happens when a disk is full: projections/diskspace does.
package disk
