// Package names reads from one source file what its names may refer to.
//
// It answers the question "where would the name at this place be defined, as far as this
// file alone shows?", without a compiler and without the rest of the program. Package
// navigate uses its results to follow names from file to file.
//
// # How it works
//
//	description  how a language uses names, as data: which words and operators bind
//	             local names, where types are written, what a class inherits from, how
//	             imports name files (languages.go)
//	token        the tokens of the file without comments, with paired brackets
//	Binding      a local name with its scope, and where its type can be read
//	Type, Expr   a type and an expression as written, without meaning
//	Import       a name that comes from another file; a Place is a possible path of it
//	Members      the members of a type in this file; Heirs, the types that it extends
//
// The results are approximate. A description covers how people write programs, not
// everything that a language allows. What it misses makes an answer less precise but never
// causes an error: package navigate ranks the definitions of a name by the known facts, and
// shows all of them.
//
// # Invariants
//
//  1. Any text is accepted, in time linear in its size: maxElements, maxHead, maxBody and
//     maxBack bound loops that look ahead or back, and maxDepth bounds recursion.
//  2. A File does not change once it is read.
//  3. Token numbers that a File returns refer to that File.
package names
