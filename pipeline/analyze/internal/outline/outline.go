package outline

import (
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// ErrTimeout means that the deadline passed before the end of the text was reached.
var ErrTimeout = errors.New("outline: the time for symbols is used up")

// ErrLimit means that the text nests deeper than maxScopes, or defines more than
// code.MaxSymbolsPerDocument names.
var ErrLimit = errors.New("outline: the text nests too deep or has too many symbols")

// ErrPanic means that a grammar panicked on a text, which is a bug in this package.
var ErrPanic = errors.New("outline: the grammar failed")

// maxTextBytes keeps offsets within int32.
const maxTextBytes = 1<<31 - 1

// grammar reads the definitions of a text.
type grammar struct {
	lex *lexis
	run func(s scanner)
}

// grammars are the hand-written grammars; all other languages are tables.
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

// grammarOf returns the grammar of a language.
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

// declarationReader returns the reader for a language in the C family.
func declarationReader(d dialect) func(scanner) {
	return func(s scanner) {
		p := &declParser{scanner: s, dialect: d, decl: make([]token, 0, 128)}
		p.scopes.pushScope(scope{form: formFile, def: -1})
		p.run()
	}
}

// bytesPerSymbol is the usual density of definitions in source code.
const bytesPerSymbol = 384

// Supported reports whether Extract finds symbols in the language.
func Supported(language code.Language) bool {
	_, byHand := grammars[language]
	_, byTable := tablesByLanguage[language]
	return byHand || byTable
}

// Extract returns the symbols that text defines, in order of Offset. It returns none for
// an unsupported language. A zero deadline means no deadline. If the error wraps
// ErrTimeout, Extract returns the symbols found in time; with ErrLimit, those outside the
// parts that nest too deep; with ErrPanic, none. The result does not refer to text.
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

// record returns the definitions in a text: some of them with ErrTimeout or ErrLimit, and
// nil with ErrPanic.
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
