// Package permissions keeps other users of the machine away from the files of Quarry.
//
// It answers the question "who else can access this file, and how is that prevented?".
//
// # Main types
//
//	RestrictUmask  makes everything that the process creates private
//	Open           reports what other users may do with a file
//	Closer         removes the permissions of other users from existing files
//
// # Invariants
//
//  1. A private file has no permission bit for group and others. Permissions are
//     only removed, never added.
//  2. A Closer changes only files that belong to the user of the process, and only within
//     the given directory: it follows no symbolic link below it.
//  3. A Closer visits at most MaxEntries files.
//
// # Concurrency
//
// RestrictUmask changes the whole process: a command calls it before it writes anything.
// A Closer is used by one goroutine.
//
// Systems other than Unix have other permissions; there nothing is changed and nothing is
// reported.
package permissions
