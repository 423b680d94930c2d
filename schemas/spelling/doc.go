// Package spelling suggests names for a mistyped one: the name of a repository, a branch,
// a file, a language or a setting.
//
// It answers the question "did you mean …?" for every part of Quarry that reports an
// unknown name, so that all of them rank names in the same way.
//
// Main functions: Nearest ranks names, Distance counts typing errors.
//
// Invariants:
//  1. The result depends only on the word and on the names that the caller passes. So a
//     caller that passes only visible names reveals no others.
//  2. A comparison computes at most 2·limit+1 cells of a table for each byte, and none for
//     names whose lengths or letters differ too much. A name with slashes is compared once
//     for each of its elements. The caller must bound the number of names.
//
// It imports the standard library only. All functions are safe for concurrent use.
package spelling
