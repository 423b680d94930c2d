// Package branches measures the cost of many branches of one repository.
//
// It answers: what does an import of many branches cost, compared with one that reads
// only the distinct text, compared with zoekt, and for each additional branch?
//
// # Experiments
//
//	sixty       60 branches from git to searchable, compared with zoekt-git-index -branches, which accepts at most 64
//	many        237 branches, compared with one branch that contains the distinct text of all of them
//	clones      three clones of the repository under three names
//	thousands   3,000 branches
//
// The repository is a history of published versions of one package
// (corpus.Repository.Steps), and the branches are spread evenly over its first-parent
// history. Programs and experiments take turns, Options.Rounds times, and the median run
// of each counts.
//
// # Invariants
//
//  1. Every run starts with an empty index or data directory, which is removed afterwards.
//  2. Everything is below Options.Work; every started server is stopped.
//  3. An import ends when everything is searchable. Dropped documents are counted after the merges have ended.
package branches
