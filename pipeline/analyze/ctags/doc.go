// Package ctags finds symbols with universal-ctags, a program that the operator installs.
//
// It answers the question "what does this file define?" for languages that package
// outline has neither a grammar nor a table for. It is an option: ADR 32 has the reasons.
//
// # Types
//
//	Pool      at most Options.Processes processes of ctags, each with one file at a time
//	Metrics   files by result, and processes that were replaced by reason
//
// # Protocol
//
// A process is started with --_interactive=sandbox, which allows it hardly more system
// calls than to read its standard input and to write its standard output. For each file it
// gets a line of JSON with a made-up name and the size, and then the text; it answers with
// a line of JSON for each tag, and a last one that says "completed".
//
// # Invariants
//
//  1. A process knows no path, has no environment but PATH, reads no options, and begins in
//     an empty directory.
//  2. Time, text, output, length of a line and number of symbols of a file are bounded; on
//     Linux, memory and processor time of a process as well. A process that exceeds
//     a bound is killed.
//  3. What ctags says is checked: the text at the Offset of a symbol is its Name.
//  4. A process that dies is replaced and reads its file again, once; then the file goes on
//     without symbols.
//
// # Concurrency
//
// A Pool is safe for concurrent use. FindSymbols waits for a free process.
//
// The package must not know of paths, repositories or segments.
package ctags
