// Package permissions keeps other users of the machine away from the files of
// Quarry.
//
// It answers the question "who else may use this file, and how is that ended?".
//
// # Main types
//
//	RestrictUmask  makes everything that the process creates private
//	Open           reports what other users may do with a file
//	Closer         takes the permissions of other users away from existing files
//
// # Invariants
//
//  1. A private file has no permission bit of group and others. Permissions are
//     only taken away, never given.
//  2. A Closer changes files that belong to the user of the process, and nothing
//     outside of the directory that it was given: it follows no symbolic link below.
//  3. A Closer looks at no more than MaxEntries files.
//
// # Concurrency
//
// RestrictUmask changes the whole process: a command calls it before it writes
// anything. A Closer is used by one goroutine.
//
// Systems other than Unix have other permissions; there nothing is changed and
// nothing is reported.
package permissions
