// Package growth measures what happens to Quarry's figures as what it holds grows.
//
// It answers: what do a query, a push, a start, memory and disk cost with more text, with more repositories and after more pushes?
//
// # Experiments
//
//	Copies   the same tree 1, 4, 16, … times, with its identifiers renamed, so that nothing is deduplicated
//	Many     thousands of small repositories, cut from the same tree
//	Pushes   thousands of pushes of one file into one repository, against a fresh build of what they lead to
//
// All work on one tree of files (Base). A copy renames every identifier of four letters and more that few files have; words that many files have
// stay, so that the copies have the trigrams, the languages and the symbols of the original and only rare words differ. A selective query searches
// for a word that one file of the original has.
//
// What is compared is measured side by side: a stage's data directory is kept, at the end one server runs on each, and the questions go round the
// servers in turn. So a machine that is busy for a minute is so for all of them.
//
// # Invariants
//
//  1. The same tree gives the same repositories: nothing is random.
//  2. Every size is an option; searchbench growth without flags for them takes minutes.
//  3. Everything is below Options.Work, whose content is replaced; every server that is started is stopped.
package growth
