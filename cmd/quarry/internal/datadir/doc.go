// Package datadir takes the data directory for this process.
//
// It answers the question "are these files ours alone?": one process holds the directory,
// and other users of the machine may use none of its files.
//
// # Main types
//
//	Lock   takes the directory and closes what Quarry makes at its top
//	Guard  closes what is below, while the server works
//
// # Invariants
//
//  1. Nothing in the directory is touched before it is locked, nor if a restore into it
//     was cut short.
//  2. Directories that the configuration chooses are the administrator's: they are
//     reported, never changed.
//
// # Concurrency
//
// Run of a Guard blocks until its context ends.
//
// It reads no file and removes none.
package datadir
