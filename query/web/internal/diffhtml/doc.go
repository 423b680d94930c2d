// Package diffhtml writes differences between files as HTML.
//
// It answers the question "which lines and words changed, and how are they shown next to
// each other?". Words.AppendHunk writes a hunk so that the style sheet can show it unified or
// split: without scripts, by the width of the window. Each run of lines is a grid with
// the numbers and the text of both sides; unchanged lines are contained twice, and the
// unified view hides the second copy.
//
// # Invariants
//
//  1. Text becomes markup only in codehtml.AppendText.
//  2. Lines have no elements of their own: a run has one for its numbers and one for its
//     text, with elements only around changed words.
//  3. Words are compared only within lines that were changed in place, and only within
//     bounds (maxPairBytes, maxPairs, maxWork): comparing long lines takes more than linear time.
package diffhtml
