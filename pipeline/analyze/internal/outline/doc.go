// Package outline finds the definitions in a source file.
//
// It answers the question "which names does this text define, where, and
// inside what?" for some sixty languages, at the speed of a linear scan, so that
// symbols never dominate the indexing of a repository. ADR 0005 compares it with
// universal-ctags, tree-sitter and compilers' own parsers.
//
// A dozen languages have a grammar written by hand; all others are tables, and a
// further one is a table as well: docs/adding-a-language.md.
//
// # How it works
//
//	lexis     the lexical table of a language: a class for every byte, its
//	          keywords, and one function for the bytes that begin something
//	          irregular (comments, strings, heredocs, directives)
//	lexicon   the same as data: forms of comments and literals, keywords. compile
//	          makes a lexis of it
//	scanner   text → tokens by that table; skips a body at memory speed, looking
//	          only at brackets and at bytes the table marks as irregular
//	grammar   what to do with the tokens. The languages of C's family (C, C++,
//	          Java, C#, PHP) collect the tokens of one declaration and judge it
//	          when its "{" or ";" is reached; Go, Rust, JavaScript and
//	          TypeScript read items by keyword; Python, Ruby and Shell go line
//	          by line, by indentation and block keywords
//	table     a language as data: its lexicon, how statements and blocks begin and
//	          end, and rules
//	pattern   how a definition begins, as a rule says it: "class @", "fun ... @ ()"
//	rule      what a statement that matches a pattern defines: kind, parent, block
//	parser    tableParser collects the tokens of a statement, matches the rules when
//	          it ends, and keeps the blocks that are open
//	recorder  definitions found so far → []code.Symbol
//
// No grammar is a complete parser: each knows just enough to distinguish a
// definition from a use. docs/languages.md lists what is recognized.
//
// # Invariants
//
//  1. The text at Offset is Name, on line Line; Name has 1 to
//     code.MaxSymbolBytes bytes and no line break.
//  2. Symbols are in order of Offset; at most code.MaxSymbolsPerDocument.
//  3. Time and memory are linear in the text: no token is scanned more than a
//     constant number of times, scopes nest at most maxScopes deep, a declaration
//     holds at most maxDeclTokens tokens, and a statement at most maxStatement, at
//     maxAttempts of which rules are tried.
//  4. The result is a function of language and text, unless the deadline passes.
//  5. Any bytes are accepted. Broken source gives fewer or odd symbols, never an
//     error.
//
// # Concurrency
//
// Extract keeps no state between calls and may run in parallel. The tables are
// built at start-up and never written again.
//
// The package must not do I/O, start goroutines, or know of paths and repositories.
package outline
