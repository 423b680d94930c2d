// Package navigate finds where a symbol is defined and where it is used.
//
// It answers the question "where does this name lead?". Both answers are
// searches with a tree made here instead of read from text, over the same View
// and the same index:
//
//	Definitions   the name as a whole word among the symbols of documents
//	References    the name as a whole identifier of source, outside of comments,
//	              strings and prose; definitions are among them, and marked
//
// # Positions
//
// A Request may say where the name is used. Then a resolver reads that file, and says what
// the name most likely means there: a local name of a scope around it; a member of the type
// of its receiver, which is read from declarations, assignments and results, through fields
// and base types; a name of the file, of its package, or of a file that it imports.
// It looks up definitions of the index as it goes, and reads the files that have them, within
// maxResolveSearches, maxResolveBytes and maxResolveTime. What one file says is read by
// internal/names, from a description of each language.
//
// # Precise indexes
//
// Where an index that an indexer wrote with a compiler (query/precise) has the position, the
// places that it has of the symbol come first, marked as precise, and references that it has
// of another symbol are left out.
//
// # Without one
//
// No compiler is asked, so this ranks, and hides nothing: the other definitions of the name
// follow, the nearest first, each with its Relation.
//
// # Files
//
//	navigate.go         Request, Result, and the searches
//	position.go         the file and token of a position
//	resolve.go          names without a receiver, imports
//	typeof.go           types of receivers, members
//	lookup.go           definitions by name, and their files, within bounds
//	definitions.go      the answer of Definitions with a position
//	classify.go         references: roles, relations, order
//	symbols.go          what a repository or file defines
//	implementations.go  types that implement another one
//	precise.go          what precise indexes say about a position
//	hover.go            what is said about a symbol
//
// # Invariants
//
//  1. The name is literal: no character of it acts as a pattern. Case is exact.
//  2. A whole word has no letter, digit or underscore of any script on the side
//     where the name itself ends in one.
//  3. Repository names match exactly; revisions by short or full name, and no
//     revision means the default branch.
//  4. At most MaxMatches are returned, and Result says whether there are more.
//  5. A position changes which match comes first. It adds at most what the name means there
//     to the definitions, and takes nothing away but what a precise index says is another
//     symbol.
//  6. Every file is read through the View of the request, so that nothing is used that the
//     caller may not read.
//
// A Navigator is immutable and safe for concurrent use. It parses no query text
// and knows nothing of HTTP.
package navigate
