// Package analyze extracts from a blob the data to index: text, language, flags and
// symbols.
//
// It answers the question "is this file searchable, in which encoding and language
// is it written, and what does it define?". ADR 0005 and docs/languages.md describe
// how symbols are found.
//
// # Types
//
//	Analyzer  Document does all of it; Place only the part that depends on the path, for
//	          a place whose blob is already indexed
//	Result    the result: skipped with a reason, or text, language, flags, symbols
//	Attributes what the .gitattributes files of a repository say about a path; the caller
//	          applies it to a Result
//	Tokenizer the tokens of a text for display
//	Outline   tokens, including the names in definitions, and symbols with details that
//	          are not in the index, extracted from a text on demand
//
// # Inputs of each result
//
//	skipped              size, then the encoding
//	text                 content: UTF-8 as it is, without a byte-order mark; UTF-16
//	                     and Windows-1252 decoded
//	language             path and the first HeadBytes of content, as go-enry decides
//	generated            path and the first HeadBytes of content
//	vendored, test       path
//	ASCII, transcoded    content
//	symbols              text and language; the flags report whether some are missing
//
// # Invariants
//
//  1. Document is a function of path and content, except for the time limit on
//     symbols and the program that Options.Ctags runs; it keeps no state between calls.
//  2. Place(path, head) returns Document's language and PlaceFlags, if head contains
//     the first HeadBytes of content, or all of a shorter content.
//  3. A skipped Result contains only the reason. Text, if set, contains no NUL byte
//     within its first 8000 bytes.
//  4. A failure to find symbols never makes a file unsearchable.
//  5. Attributes decide as git check-attr does. Their files are hostile: matching takes
//     time proportional to the pattern and to the path, and what exceeds a bound
//     (attributes.go) has no effect.
//
// An Analyzer is safe for concurrent use, because only New writes its tables.
//
// Its subpackage ctags finds the symbols of additional languages, if the operator has
// installed universal-ctags.
//
// The package must not read repositories, write segments or depend on the log.
package analyze
