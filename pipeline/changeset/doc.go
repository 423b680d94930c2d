// Package changeset lists the changes of a repository's files between two commits.
//
// It answers the question "which paths, and which contents?", as git's trees
// say it: a rename is a deletion and an addition, and both name the same blob,
// so consumers need not detect renames. History does not matter: a forced push is a
// difference like any other.
//
// Main types: Change (one path, before and after), Kind (what happened to it).
//
// # Invariants
//
//  1. Changes are ordered by path, by bytes; each path occurs once.
//     A path is UTF-8: a byte that is not is spelled \xHH. A path that
//     code.ValidatePath refuses has the name that code.NamePath makes, and
//     Change.InvalidPath is set.
//  2. Applying the changes to the files of before gives the files of after.
//  3. No before means an empty repository: every file of after is Added.
//  4. A file's New.Size is known, or -1 if the blob is missing.
//  5. At most as many changes as the caller takes, and MaxChanges; more are an error, not a part of them.
//
// Functions are safe for concurrent use. The package reads trees and sizes
// through mirror, never contents, and decides nothing about what is indexed.
package changeset
