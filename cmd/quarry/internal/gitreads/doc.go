// Package gitreads answers from the git mirrors of this process what query/source asks of
// git.
//
// It answers the question "what does git have of this commit?": files, directories,
// history, blame and differences, as source.Git. Nothing is cached here and nothing is
// decided about who may read.
//
// # Invariants
//
//  1. An error shows the text of its cause only if Quarry wrote it: a message of git may
//     name directories of this machine.
//  2. Whatever is read is bounded by the caller's limits; a limit that is exceeded is an
//     error, never a shorter answer.
//  3. The text of a file is what would be indexed of it.
//
// # Concurrency
//
// Reads is safe for concurrent use. Each call takes a reader of its mirror and returns it.
package gitreads
