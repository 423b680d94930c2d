// Package reading recognizes what people paste into a search, and says how it may be meant.
//
// It answers: is the text of a query a line of code, an error message or a stack trace, and which pieces of it are worth
// a search? It looks at the text alone, never at an index. Package search tries the readings (reread.go there), and
// says in a notice which one the answer is for.
//
// The stages of a query are syntax → reading → plan → search. Recognize takes what package syntax read and returns a
// Paste, or nil for a query that is meant literally. Its cheap checks come first: nearly all queries are a few words, and
// cost a look at their leaves.
//
//	Trace    lines that have the shape of a frame of a stack trace. Frame has the file, the line and the symbol
//	Code     brackets, operators or quotes inside of terms, where the query language has no use for them. Expression
//	         finds the lines whatever blanks are between their tokens
//	Message  words with values between: numbers, hexadecimal digits, paths, quoted text. Message cuts it into runs of
//	         constant words, and Template reports whether a string literal can have been its format
//
// Invariants:
//  1. A query is never recognized if each of its terms is in quotes, if it has a term with a keyword (content:, regex:,
//     literal:), sym:, kind:, line:, case:, type: or select:, or if terms are regular expressions. So syntax.PrintLiteral gives the text of
//     the literal reading of any query.
//  2. Filters at the beginning and the end of a query stay filters, whatever is between them.
//  3. The work is bounded by the Max constants, whatever the text.
//
// It must not: touch an index, or decide which reading an answer is for.
package reading
