// Package scan finds literals and regular expressions in text, quickly.
//
// It answers the question "where in this text is a match?".
//
//	Literals  finds the next occurrence of one or several literals
//	Regexp    runs package regexp on a text of any length, and can be stopped in the middle of it
//	RE2       runs RE2, for expressions without a literal, on pieces of whole lines
//
// # Literals
//
// To find a literal regardless of letter case, the package searches for the rarest byte of
// the literal with the vectorized bytes.IndexByte, once in lower and once in upper case, and
// compares the literal around each hit. It compares text outside ASCII rune by rune under
// Unicode simple case folding, where an occurrence may be longer or shorter than the
// literal. If the literal nearly occurs again and again, as in repetitive text, an automaton
// that reads every byte once takes over. bytes.Index finds a literal whose exact case
// matters.
//
// # Invariants
//
//  1. Next returns the leftmost occurrence that starts at or after from. If several
//     literals occur at the same place, it returns the first in the order given.
//
//  2. The work is linear in the text for any literal: about maxCompared bytes are compared
//     per byte of the text, or minRepetitive for a short literal.
//
//  3. Regexp finds what FindAllIndex finds, without the empty matches. RE2 finds the same in
//     valid UTF-8 if the expression neither matches a line feed nor refers to the bounds of
//     the text.
//
// All three keep state between calls, so each belongs to one goroutine. The package does
// not know about segments.
package scan
