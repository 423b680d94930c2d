// Package branches measures what many branches of one repository cost.
//
// It answers: what does an import of many branches cost, compared with one that reads the distinct text alone, compared with zoekt, and for each
// further branch?
//
// # Experiments
//
//	sixty       60 branches from git to searchable, compared with zoekt-git-index -branches, which takes at most 64
//	many        237 branches, compared with one branch that has the distinct text of all of them
//	clones      three clones of the repository under three names
//	thousands   3,000 branches
//
// The repository is a history of published versions of one package (corpus.Repository.Steps), and branches lie evenly on its first-parent history.
// Programs and experiments take turns, Options.Rounds times; of each the median run counts.
//
// # Invariants
//
//  1. Every run starts from an empty index or data directory, which is removed afterwards.
//  2. Everything is below Options.Work; every server that is started is ended.
//  3. An import ends when everything is searchable; merges end before the documents that they dropped are counted.
package branches
