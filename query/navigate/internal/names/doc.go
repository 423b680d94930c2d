// Package names reads from one source file what its names may refer to.
//
// It answers the question "where would the name at this place be defined, as far as
// this file alone tells?", without a compiler and without the rest of the program. Package
// navigate follows what it says from file to file.
//
// # How it works
//
//	description  what a language does with names, as data: which words and operators
//	             bind local names, where types are written, what a class inherits
//	             from, how imports name files (languages.go)
//	token        the tokens of the file without comments, with their brackets paired
//	Binding      a local name with its scope, and where its type can be read
//	Type, Expr   a type and an expression as they are written, without meaning
//	Import       a name that comes from another file; a Place says which file that may be
//	Members      what a type has in this file, Heirs which types it takes more from
//
// Nothing of it is exact. A description covers how people write programs, not all that a
// language allows, and what it misses makes an answer less good, never an error: package
// navigate ranks the definitions of a name by what is known, and shows them all.
//
// # Invariants
//
//  1. Any text is accepted, in time that grows with its size: loops that look ahead or back
//     are bounded by maxElements, maxHead, maxBody, maxBack and the depth by maxDepth.
//  2. A File does not change once it is read.
//  3. Numbers of tokens that a File returns are those of this File.
package names
