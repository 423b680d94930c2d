// Package meaning measures whether the first definition that is shown for a name is the one that the name means.
//
// It answers: of names drawn from real sources, for how many does the first definition that Quarry returns for their
// position agree with the tooling of the language; and for how many does the first one for the name alone, or that of a
// tags file?
//
//	Source  a tree of files that Quarry has indexed under its name
//	Oracle  what knows the right answer: a language server (OpenServer), or a program that is asked line by line (OpenLines)
//	Case    a name at a position, with the lines that the oracle says
//	Draw    draws cases by a seed; what the oracle does not find in the tree, or where the name itself is, is none
//	Measure asks a Finder all cases
//
// Names of packages and modules are no cases: they are directories or files, not definitions.
package meaning
