// Package reading recognizes text that people paste into a search, and determines how it
// may be meant.
//
// It answers the question: is the text of a query a line of code, an error message or a
// stack trace, and which parts of it are worth a search? It reads only the text, never an
// index. Package assist tries the readings (reread.go there), and names in a notice the
// one that the results are for.
//
// The stages of a query are syntax → reading → plan → search. Recognize takes the Parsed
// of package syntax and returns a Paste, or nil for a query that is meant literally. Its
// cheap checks come first: most queries are a few words, and only their leaves are
// checked.
//
//	Trace    lines in the form of stack trace frames. Frame holds the file, the line and the
//	         symbol
//	Code     brackets, operators or quotes inside terms, where the query language does not
//	         use them. Expression finds the lines with any blanks between their tokens
//	Message  words with values between them: numbers, hexadecimal digits, paths, quoted
//	         text. Words splits it into runs of constant words, and BestTemplate finds the
//	         string literal of a line that may have been its format
//
// ReadProse recognizes plain words: a question, or the subject of a commit. It returns the
// words that have a meaning without the others, and what their forms have in common.
//
// Invariants:
//  1. A query is never recognized if all of its terms are quoted, if it has a term with a
//     keyword (content:, regex:, literal:), sym:, kind:, line:, case:, type: or select:, or
//     if its terms are regular expressions. So syntax.PrintLiteral returns the text of the
//     literal reading of any query.
//  2. Filters at the beginning and the end of a query stay filters, whatever is between
//     them.
//  3. The work is bounded by the Max constants for any text.
//
// The package must not access an index, or decide which reading the results are for.
package reading
