// Package growth measures how Quarry's figures change as its data grows.
//
// It answers: what do a query, a push, a start, memory and disk cost with more text, with
// more repositories and after more pushes?
//
// # Experiments
//
//	Copies   the same tree 1, 4, 16, … times, with its identifiers renamed, so that nothing is deduplicated
//	Many     thousands of small repositories, cut from the same tree
//	Pushes   thousands of pushes of one file into one repository, compared with a fresh build of the result
//
// All experiments use one tree of files. A copy renames every identifier of at least four
// letters that few files contain. Words that many files contain stay, so that the copies
// have the trigrams, the languages and the symbols of the original and only rare words
// differ. A selective query searches for a word that occurs in one file of the original.
//
// Stages are measured side by side: the data directory of each stage is kept, at the end
// one server runs on each, and the queries go to the servers in turn. If the machine is
// busy for a minute, that affects all of them.
//
// # Invariants
//
//  1. The same tree gives the same repositories: nothing is random.
//  2. Every size is an option; with the default sizes, searchbench growth takes minutes.
//  3. Everything is below Options.Work, whose content is replaced; every started server is stopped.
package growth
