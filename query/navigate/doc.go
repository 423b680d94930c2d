// Package navigate finds where a symbol is defined and where it is used.
//
// It answers the question "where does this name lead?". Both answers are searches over the
// same View and index as any query, but with a query tree built here instead of parsed:
//
//	Definitions   the name as a whole word among the symbols of documents
//	References    the name as a whole identifier of source, outside of comments,
//	              strings and prose; definitions are among them, and marked
//
// # Positions
//
// A Request may include the position at which the name is used. Then a resolver reads that
// file and determines what the name most likely means there: a local name of an enclosing
// scope; a member of the type of its receiver, which is inferred from declarations,
// assignments and results, through fields and base types; or a name of the file, of its
// package, or of a file that it imports. On the way, the resolver looks up definitions in the
// index and reads the files that contain them, within maxResolveSearches, maxResolveBytes and
// maxResolveTime. Package internal/names interprets each file by a description of its
// language.
//
// # Precise indexes
//
// If a precise index (query/precise) covers the position, its places of the symbol come
// first, marked as precise, and references to other symbols according to it are dropped.
// Indexes of other repositories define a symbol only if their repository owns its package:
// owners.go finds the owner by configuration, by name, or by manifest.
//
// # Without a precise index
//
// Without the knowledge of a compiler, Navigator ranks and hides nothing: the other
// definitions of the name follow, nearest first, each with its Relation.
//
// # Files
//
//	navigate.go         Request, Result, and the searches
//	position.go         the file and token of a position
//	resolve.go          names without a receiver, imports
//	typeof.go           types of receivers, members
//	lookup.go           definitions by name, and their files, within bounds
//	definitions.go      definitions for a position
//	classify.go         roles, relations and order of references
//	symbols.go          symbols that a repository or file defines
//	implementations.go  types that implement another type
//	precise.go          matches from precise indexes
//	owners.go           repositories that own packages
//	hover.go            description of a symbol
//
// # Invariants
//
//  1. The name is literal: no character of it acts as a pattern. Case is exact.
//  2. A whole word has no letter, digit or underscore of any script next to an end of the
//     name that is such a character itself.
//  3. Repository names match exactly, revisions by short or full name; no revision means
//     the default branch.
//  4. At most MaxMatches are returned, and Result reports whether there are more.
//  5. A position changes the order of the matches. It adds at most the meaning of the name
//     to the definitions, and removes only places where a precise index shows another
//     symbol.
//  6. Every file is read through the View of the request, so nothing is used that the
//     caller may not read.
//
// A Navigator is immutable and safe for concurrent use. It parses no query text and knows
// nothing about HTTP.
package navigate
