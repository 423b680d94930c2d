// Package codehtml writes the text of files as HTML.
//
// It answers the question "how does text that somebody else wrote become markup?".
// Types: Text, a file's text with its lines and tokens; Cursor, which writes parts of a
// line, for results and differences; Range, the lines and
// columns that are marked in it.
//
// # Invariants
//
//  1. Nothing but AppendText turns a byte of a file into markup, and it escapes all
//     of them: what is written, without its tags and with its references resolved,
//     is the text, with U+FFFD for NUL and for each byte that is no UTF-8.
//  2. A tag never spans a line, except those of a range of marked lines.
//  3. Characters that change the direction of writing, controls, and characters
//     without a width have an element of their own, which shows their names and keeps
//     them from changing what is around them.
//
// There is no element for each line: a file of 100,000 lines opens at once. The lines
// are in chunks, whose numbers are one text each. AppendWrapped has an element for
// each line, because lines that wrap have different heights.
package codehtml
