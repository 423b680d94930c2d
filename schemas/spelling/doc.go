// Package spelling finds the names that a mistyped one may have meant: of a
// repository, a branch, a file, a language, a setting.
//
// It answers the question "did you mean …?" for every part of Quarry that reports an unknown name, so that all of them
// have the same idea of what is near.
//
// Main functions: Nearest ranks names, Distance counts typing errors.
//
// Invariants:
//  1. The result depends only on the word and on the names that the caller passes. So a
//     caller that passes only visible names reveals no other.
//  2. A comparison costs at most maxComparedBytes squared steps, and a few for names that are far off. The caller
//     bounds how many names there are.
//
// It imports the standard library only. Everything may be called from many goroutines.
package spelling
