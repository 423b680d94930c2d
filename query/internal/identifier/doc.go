// Package identifier reads the names in programs: where their words begin, and how else the
// same name may be written.
//
// Letters, digits and underscores of ASCII form names, and so does every character outside
// ASCII; the separators - . : $ may stand between the words of a name. The package does not
// know where a name occurs or what it means.
package identifier
