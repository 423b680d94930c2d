// Package ctags finds symbols with universal-ctags, a program that the operator installs.
//
// It answers the question "what does this file define?" for languages for which package
// outline has neither a grammar nor a table. It is optional; ADR 32 explains why.
//
// # Types
//
//	Pool      at most Options.Processes ctags processes, each reading one file at a time
//	Metrics   counts of files, by result, and of replaced processes, by reason
//
// # Protocol
//
// A process is started with --_interactive=sandbox, which allows it few system calls other
// than reading standard input and writing standard output. For each file, it receives a
// line of JSON with a made-up name and the size, followed by the text. It answers with a
// line of JSON for each tag and a final "completed" line.
//
// # Invariants
//
//  1. A process learns no path, has no environment variable except PATH, reads no option
//     files, and starts in an empty directory.
//  2. For each file, the time, the text, the output, the length of an output line and the
//     number of symbols are bounded. On Linux, so are the memory and processor time of a
//     process. A process that exceeds a bound is killed.
//  3. The output of ctags is checked: the text at the Offset of a symbol is its Name.
//  4. If a process dies, its replacement reads the file once more. If that one dies too,
//     the file is indexed without symbols.
//
// # Concurrency
//
// A Pool is safe for concurrent use. FindSymbols waits for a free process.
//
// The package must not know about paths, repositories or segments.
package ctags
