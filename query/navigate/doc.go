// Package navigate finds where a symbol is defined and where it is used.
//
// It answers the question "where does this name lead?". Both answers are
// searches with a tree made here instead of read from text, over the same View
// and the same index:
//
//	Definitions   the name as a whole word among the symbols of documents
//	References    the name as a whole word in text; definitions are among them
//
// # Invariants
//
//  1. The name is literal: no character of it acts as a pattern. Case is exact.
//  2. A whole word has no letter, digit or underscore of any script on the side
//     where the name itself ends in one.
//  3. Repository names match exactly; revisions by short or full name, and no
//     revision means the default branch.
//  4. At most MaxMatches are returned, and Result says whether there are more.
//
// A Navigator is immutable and safe for concurrent use. It parses no query text
// and knows nothing of HTTP.
package navigate
