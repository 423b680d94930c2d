// Package meaning measures whether the first definition that is shown for a name is the
// right one.
//
// It answers: of names drawn from real sources, for how many does the first definition
// that Quarry returns for their position agree with the tooling of the language; and for
// how many does the first definition for the name alone, or that of a tags file?
//
//	Source  a tree of files that Quarry has indexed under its name
//	Oracle  provides the right answer: a language server (OpenServer), or a program that is queried line by line (OpenLines)
//	Case    a name at a position, with the lines that the oracle returns
//	Draw    draws cases by a seed; it rejects names whose definition is not in the tree, or is the name itself
//	Measure sends all cases to a Finder
//
// Names of packages and modules are not cases: they are directories or files, not
// definitions.
package meaning
