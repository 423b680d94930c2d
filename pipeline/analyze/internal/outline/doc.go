// Package outline finds the definitions in a source file.
//
// It answers the question "which names does this text define, where, and inside what?" for
// some sixty languages, at the speed of a linear scan, so that symbols never dominate the
// indexing of a repository. ADR 0005 compares it with universal-ctags, tree-sitter and
// compilers' own parsers.
//
// A dozen languages have a hand-written grammar. All others are tables, and a new language
// should be a table too: docs/adding-a-language.md.
//
// # How it works
//
//	lexis     the lexical table of a language: a class for every byte, its
//	          keywords, and one function for the bytes that begin something
//	          irregular (comments, strings, heredocs, directives)
//	lexicon   the same as data: forms of comments and literals, keywords. compileLexis
//	          converts it to a lexis
//	scanner   text → tokens, by that table; it skips bodies at memory speed, stopping
//	          only at brackets and at bytes that the table marks as irregular
//	grammar   interprets the tokens. The languages of the C family (C, C++, Java, C#,
//	          PHP) collect the tokens of one declaration and interpret them at its "{"
//	          or ";". Go, Rust, JavaScript and TypeScript read items by keyword.
//	          Python, Ruby and Shell read line by line, by indentation and block
//	          keywords
//	table     a language as data: its lexicon, how statements and blocks begin and
//	          end, and rules
//	pattern   the beginning of a definition in a rule: "class @", "fun ... @ ()"
//	rule      what a statement that matches a pattern defines: kind, parent, block
//	nested    definitions inside bodies: noted while a body is skipped, read afterwards
//	parser    tableParser collects the tokens of a statement, matches the rules when
//	          it ends, and tracks the open blocks
//	recorder  definitions found so far → []code.Symbol
//
// No grammar is a complete parser: each knows just enough to distinguish a definition from
// a use. docs/languages.md lists the definitions that each language recognizes.
//
// # Invariants
//
//  1. The text at Offset is Name, on line Line; Name has 1 to code.MaxSymbolBytes bytes
//     and no line break.
//  2. Symbols are in order of Offset; at most code.MaxSymbolsPerDocument.
//  3. Time and memory are linear in the text: no token is scanned more than a constant
//     number of times, scopes nest at most maxScopes deep, a declaration holds at most
//     maxDeclTokens tokens, and a statement at most maxStatement. Rules are tried at no
//     more than maxAttempts of these.
//  4. The result is a function of language and text, unless the deadline passes.
//  5. Any bytes are accepted. Broken source yields fewer or odd symbols, never an error.
//
// # Concurrency
//
// Extract keeps no state between calls and may run in parallel. The tables are built at
// startup and never modified.
//
// The package must not do I/O, start goroutines, or depend on paths and repositories.
package outline
