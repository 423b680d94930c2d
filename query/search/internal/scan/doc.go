// Package scan finds literals in text, quickly.
//
// It answers the question "where does this literal occur, in the letter case of the
// query?". Literals finds the next occurrence of one or several literals.
//
// # Method
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
//  2. The work is linear in the text for any literal: about maxCompared bytes are compared
//     per byte of the text, or minRepetitive for a short literal.
//
// A Literals remembers its position, so it belongs to one goroutine. The package does not
// know about segments.
package scan
