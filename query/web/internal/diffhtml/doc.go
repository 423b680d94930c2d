// Package diffhtml writes differences between files as HTML.
//
// It answers the question "which lines and words changed, and how are they put next to
// each other?". AppendHunk writes a hunk in such a way that the style sheet can show it
// unified or split: without scripts, by the width of the window. Each run of lines is a
// grid with the numbers and the text of both sides; unchanged lines are there twice, and
// the unified view hides the second ones.
//
// # Invariants
//
//  1. Text becomes markup in codehtml.AppendText only.
//  2. There is no element for each line: a run has one for its numbers and one for its
//     text, with elements only around words that changed.
//  3. Words are compared within lines that were changed in place, and only within bounds
//     (maxPairBytes, maxPairs): the comparison of long lines takes more than linear time.
package diffhtml
