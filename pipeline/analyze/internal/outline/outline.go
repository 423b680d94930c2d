package outline

import (
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// ErrTimeout says that the deadline passed before the text was read to its end.
var ErrTimeout = errors.New("outline: the time for symbols is used up")

// ErrLimit says that the text nests deeper than maxScopes, or defines more than
// code.MaxSymbolsPerDocument names.
var ErrLimit = errors.New("outline: the text nests too deep or has too many symbols")

// ErrPanic says that a grammar failed on a text, which is a bug in this package.
var ErrPanic = errors.New("outline: the grammar failed")

// maxTextBytes keeps offsets within int32.
const maxTextBytes = 1<<31 - 1

// grammar reads the definitions of a text.
type grammar struct {
	lex *lexis
	run func(s scanner)
}

// grammars are how the languages are read that tables do not carry.
var grammars = map[code.Language]grammar{
	"C":          {cLexis, declarationReader(cDialect{})},
	"C++":        {cppLexis, declarationReader(cDialect{cpp: true})},
	"Go":         {goLexis, runGo},
	"Java":       {javaLexis, declarationReader(javaDialect{})},
	"C#":         {csharpLexis, declarationReader(csharpDialect{})},
	"PHP":        {phpLexis, runPHP},
	"Rust":       {rustLexis, runRust},
	"JavaScript": {jsLexis, runJavaScript(false)},
	"TypeScript": {tsLexis, runJavaScript(true)},
	"TSX":        {tsLexis, runJavaScript(true)},
	"Ruby":       {rubyLexis, runRuby},
	"Shell":      {shellLexis, runShell},
	"Python":     {pythonLexis, runPython},
}

// grammarOf returns how a language is read.
func grammarOf(language code.Language) (grammar, bool) {
	if g, ok := grammars[language]; ok {
		return g, true
	}
	if compile, ok := tablesByLanguage[language]; ok {
		c := compile()
		return grammar{c.lex, c.run}, true
	}
	return grammar{}, false
}

// declarationReader returns the reader of a language of C's family.
func declarationReader(d dialect) func(scanner) {
	return func(s scanner) {
		p := &declParser{scanner: s, dialect: d, decl: make([]token, 0, maxDeclTokens)}
		p.scopes.pushScope(scope{form: formFile, def: -1})
		p.run()
	}
}

// bytesPerSymbol is the usual density of definitions in source code.
const bytesPerSymbol = 384

// Supported reports whether symbols of the language are found.
func Supported(language code.Language) bool {
	_, byHand := grammars[language]
	_, byTable := tablesByLanguage[language]
	return byHand || byTable
}

// Extract returns the symbols that text defines, in order of Offset; none for a
// language that is not supported. A zero deadline is none. The error wraps
// ErrTimeout, and then the symbols are those found in time; ErrLimit, and then they are
// those outside of what is nested too deep; or ErrPanic, and then there are none. The result does not refer to text.
func Extract(language code.Language, text []byte, deadline time.Time) ([]code.Symbol, error) {
	g, ok := grammarOf(language)
	if !ok || len(text) > maxTextBytes {
		return nil, nil
	}
	return extractSymbols(language, g, text, deadline)
}

func extractSymbols(language code.Language, g grammar, text []byte, deadline time.Time) ([]code.Symbol, error) {
	rec, err := record(language, g, text, deadline)
	if rec == nil {
		return nil, err
	}
	return rec.buildSymbols(), err
}

// record returns the definitions in a text: with ErrTimeout or ErrLimit a part of them,
// with ErrPanic nil.
func record(language code.Language, g grammar, text []byte, deadline time.Time) (rec *recorder, err error) {
	defer func() {
		if r := recover(); r != nil {
			rec, err = nil, fmt.Errorf("%w: %s: %v", ErrPanic, language, r)
		}
	}()
	rec = &recorder{src: text, defs: make([]definition, 0, 16+len(text)/bytesPerSymbol)}
	timedOut := false
	g.run(scanner{src: text, lex: g.lex, rec: rec, deadline: deadline, timedOut: &timedOut})
	if timedOut {
		return rec, ErrTimeout
	}
	if rec.limited {
		return rec, ErrLimit
	}
	return rec, nil
}
