// Package gitreads answers the git requests of query/source from the mirrors of this
// process.
//
// It answers the question "what does git contain at this commit?": files, directories,
// history, blame and differences, as source.Git. It caches nothing and does not decide
// who may read. BlobAnalyzer analyzes blobs again for a version of the past.
//
// # Invariants
//
//  1. An error shows the text of its cause only if Quarry wrote it: a message of git may
//     name directories of this machine.
//  2. All reads are bounded by the caller's limits. Exceeding a limit is an error, never
//     a shorter answer.
//  3. The text of a file equals the text that would be indexed.
//
// # Concurrency
//
// Reads is safe for concurrent use. Each call takes a reader of its mirror and returns
// it.
package gitreads
