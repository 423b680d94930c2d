// Package scan finds literals in text, quickly.
//
// It answers the question "where does this literal occur, in the letter case of the
// query?". Literals finds the next of one or several.
//
// # Method
//
// A literal that ignores case is found by its rarest byte: bytes.IndexByte, which
// is vectorised, runs for the lower and for the upper case, and the literal is
// compared around what it finds. Text outside ASCII is compared rune by rune
// under Unicode simple case folding, where an occurrence may be longer or shorter
// than the literal. Where the literal nearly occurs again and again, as in a text
// that repeats itself, an automaton takes over that looks at every byte once. A
// literal whose exact case matters is found by bytes.Index.
//
// # Invariants
//
//  1. Next returns the leftmost occurrence that starts at or after from; of
//     several literals at one place, the first in the order given.
//  2. The work is linear in the text, whatever the literal: about maxCompared bytes
//     are compared for each byte of the text, or minRepetitive.
//
// A Literals remembers where it is, so it belongs to one goroutine. The package knows nothing of segments.
package scan
