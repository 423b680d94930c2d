// Package codehtml writes the text of files as HTML.
//
// It answers the question "how does untrusted text become markup?". Types: Text, a file's
// text with its lines and tokens; Cursor, which writes parts of a line, for results and
// differences; Range, the marked lines and columns.
//
// # Invariants
//
//  1. Only AppendText turns bytes of a file into markup, and it escapes all of them: the
//     output, without its tags and with its references resolved, is the text, with U+FFFD
//     for NUL and for each byte that is not UTF-8.
//  2. A tag never spans lines, except those of a range of marked lines.
//  3. Characters that change the direction of writing, control characters, and characters
//     without a width are each in an element, which shows their names and keeps them from
//     changing the text around them.
//
// Lines have no elements of their own, so a file of 100,000 lines opens immediately. The
// lines are in chunks, each with one text for its line numbers. AppendWrapped has an
// element for each line, because lines that wrap have different heights.
package codehtml
