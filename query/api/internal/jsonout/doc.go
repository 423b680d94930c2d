// Package jsonout writes JSON by hand where encoding/json takes too long.
//
// It answers the question "how does an answer of a thousand ranges and a megabyte
// of minified code leave in a fraction of the time that it took to find?": half of
// the time of a quick search was reflection, one copy of each text into a string,
// and a look at each byte of it on its own.
//
// A Writer appends to a buffer that is used again. AppendString has the rules of
// encoding/json without its escapes for HTML, so that answers stay what they were.
// The caller sees to commas and braces; Raw takes them as they are.
//
// # Invariants
//
//  1. A string is written as encoding/json writes it: what is not UTF-8 becomes
//     U+FFFD, and U+2028 and U+2029 are escaped.
//  2. A buffer has at most PieceBytes when a value begins, and a string adds at
//     most maxGrowth between two looks at it: what is larger leaves in pieces.
//  3. Nothing is written after an error; Flush returns it.
//
// A Writer belongs to one goroutine.
package jsonout
