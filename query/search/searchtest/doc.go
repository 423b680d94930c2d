// Package searchtest indexes a few files, for tests of searches and of code that shows answers.
//
// It answers the question "how does a test search real files without a server?".
// New creates a Corpus of repositories and their files. It is a corpus.View, which a
// search.Searcher takes like that of a server.
//
// Tests of a search itself use a Model, which a test generates or builds from a script. An Asker
// generates queries for it, and an Oracle answers them by a plain scan.
//
// # Invariants
//
//  1. The same repositories produce the same segment: files are indexed in the order of
//     repositories and paths.
//  2. Every file is on every branch of its repository.
//
// A Corpus is immutable and safe for concurrent use. It holds one open file until the
// process ends, and is for tests only.
package searchtest
