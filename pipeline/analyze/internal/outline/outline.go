package outline

import (
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// ErrTimeout says that the deadline passed before the text was read to its end.
var ErrTimeout = errors.New("outline: the time for symbols is used up")

// ErrPanic says that a grammar failed on a text, which is a bug in this package.
var ErrPanic = errors.New("outline: the grammar failed")

// maxTextBytes keeps offsets within int32.
const maxTextBytes = 1<<31 - 1

// grammar reads the definitions of a text.
type grammar struct {
	lex *lexis
	run func(s scanner)
}

// grammarOf returns how a language is read.
func grammarOf(language code.Language) (grammar, bool) {
	switch language {
	case "C":
		return grammar{cLexis, declarations(cDialect{})}, true
	case "C++":
		return grammar{cppLexis, declarations(cDialect{cpp: true})}, true
	case "Go":
		return grammar{goLexis, runGo}, true
	case "Java":
		return grammar{javaLexis, declarations(javaDialect{})}, true
	case "C#":
		return grammar{csharpLexis, declarations(csharpDialect{})}, true
	case "PHP":
		return grammar{phpLexis, runPHP}, true
	case "Rust":
		return grammar{rustLexis, runRust}, true
	case "JavaScript":
		return grammar{jsLexis, runJavaScript(false)}, true
	case "TypeScript", "TSX":
		return grammar{tsLexis, runJavaScript(true)}, true
	case "Ruby":
		return grammar{rubyLexis, runRuby}, true
	case "Shell":
		return grammar{shellLexis, runShell}, true
	case "Python":
		return grammar{pythonLexis, runPython}, true
	}
	return grammar{}, false
}

// declarations returns the reader of a language of C's family.
func declarations(d dialect) func(scanner) {
	return func(s scanner) {
		p := &declParser{scanner: s, dialect: d, decl: make([]token, 0, maxDeclTokens)}
		p.scopes.push(scope{form: formFile, def: -1})
		p.run()
	}
}

// bytesPerSymbol is the usual density of definitions in source code.
const bytesPerSymbol = 384

// Supported reports whether symbols of the language are found.
func Supported(language code.Language) bool {
	_, ok := grammarOf(language)
	return ok
}

// Extract returns the symbols that text defines, in order of Offset; none for a
// language that is not supported. A zero deadline is none. The error wraps
// ErrTimeout or ErrPanic, and then there are no symbols. The result does not
// refer to text.
func Extract(language code.Language, text []byte, deadline time.Time) ([]code.Symbol, error) {
	g, ok := grammarOf(language)
	if !ok || len(text) > maxTextBytes {
		return nil, nil
	}
	return extract(language, g, text, deadline)
}

func extract(language code.Language, g grammar, text []byte, deadline time.Time) (symbols []code.Symbol, err error) {
	defer func() {
		if r := recover(); r != nil {
			symbols, err = nil, fmt.Errorf("%w: %s: %v", ErrPanic, language, r)
		}
	}()
	rec := &recorder{src: text, defs: make([]definition, 0, 16+len(text)/bytesPerSymbol)}
	timedOut := false
	g.run(scanner{src: text, lex: g.lex, rec: rec, deadline: deadline, timedOut: &timedOut})
	if timedOut {
		return nil, ErrTimeout
	}
	return rec.symbols(), nil
}
