// Package analyze turns a blob into what is indexed of it: text, language, flags
// and symbols.
//
// It answers the question "is this file searchable, in which encoding and language
// is it written, and what does it define?". ADR 0005 and docs/languages.md describe
// how symbols are found.
//
// # Types
//
//	Analyzer  Document does all of it; Place only what depends on the path, for a
//	          place whose blob is already indexed
//	Result    the outcome: skipped with a reason, or text, language, flags, symbols
//	Tokenizer the tokens of a text for display
//	Outline   tokens with the names where something is defined, and symbols with what
//	          is not kept in the index, read from a text when they are asked for
//
// # What is decided from what
//
//	skipped              size, then the encoding
//	text                 content: UTF-8 as it is, a byte-order mark removed; UTF-16
//	                     and Windows-1252 decoded
//	language             path and the first HeadBytes of content, as go-enry decides
//	generated            path and the first HeadBytes of content
//	vendored, test       path
//	ASCII, transcoded    content
//	symbols              text and language; the flags say whether some are missing
//
// # Invariants
//
//  1. Document is a function of path and content, except for the time limit on
//     symbols and the program that Options.Ctags runs; it keeps nothing between calls.
//  2. Place(path, head) gives Document's language and PlaceFlags, if head has the
//     first HeadBytes of content, or all of a shorter one.
//  3. A skipped Result has nothing but the reason. Text, if there is any, holds
//     no NUL byte within its first 8000 bytes.
//  4. A failure to find symbols never makes a file unsearchable.
//
// An Analyzer is safe for concurrent use: its tables are written by New only.
//
// Package ctags below it finds the symbols of further languages, if the operator has
// installed universal-ctags.
//
// The package must not read repositories, write segments or know of the log.
package analyze
