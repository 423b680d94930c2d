// Package datadir locks the data directory for this process and keeps it private.
//
// It answers the question "does only this process use these files?": one process holds
// the directory, and other users of the machine can access none of its files.
//
// # Main types
//
//	Lock   locks the directory and makes Quarry's directories at its top private
//	Guard  makes everything below them private while the server runs
//
// # Invariants
//
//  1. Nothing in the directory is changed before it is locked, nor if a restore into it
//     is incomplete.
//  2. Directories that the configuration chooses belong to the administrator: they are
//     reported, never changed.
//
// # Concurrency
//
// Guard.Run blocks until its context ends.
//
// This package reads no file and removes none.
package datadir
