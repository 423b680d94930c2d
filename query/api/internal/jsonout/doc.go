// Package jsonout writes JSON where encoding/json is too slow.
//
// It answers the question "how does a response with a thousand ranges and a megabyte of
// minified code get written in a fraction of the time that it took to find?". Half of the
// time of a quick search was spent on reflection, on copying each text into a string, and
// on checking each byte separately.
//
// A Writer appends to a reusable buffer. AppendString follows the rules of encoding/json
// without its HTML escapes, so that responses do not change. The caller writes commas and
// braces with Raw, which does not check them.
//
// # Invariants
//
//  1. A string is written as encoding/json writes it: bytes that are not UTF-8 become
//     U+FFFD, and U+2028 and U+2029 are escaped.
//  2. A buffer holds at most PieceBytes when a value begins, and a string adds at most
//     maxGrowth between size checks: larger values are written in pieces.
//  3. Nothing is written after an error; Flush returns it.
//
// A Writer belongs to one goroutine.
package jsonout
