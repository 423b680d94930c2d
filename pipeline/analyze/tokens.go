package analyze

import (
	"bytes"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze/internal/outline"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Tokenizer reads the tokens of a text for display.
type Tokenizer = outline.Tokenizer

// NewTokenizer returns a Tokenizer at the beginning of a text. Languages without a
// grammar or table use a generic one. It returns nil for prose, which has no tokens. No
// token has the class code.TokenDefinition; use Outline.Tokens for that.
func NewTokenizer(language code.Language, text []byte) *Tokenizer {
	return outline.NewTokenizer(language, text)
}

// Outline extracts tokens and symbols from a text on demand. Its results are not stored
// in an index. The zero value is ready to use, and an Outline is safe for concurrent use.
type Outline struct {
	// Timeout bounds the search for symbols in one text. Default: DefaultOutlineTimeout;
	// negative means no limit.
	Timeout time.Duration
}

func (o Outline) deadline() time.Time {
	switch {
	case o.Timeout < 0:
		return time.Time{}
	case o.Timeout == 0:
		return time.Now().Add(DefaultOutlineTimeout)
	}
	return time.Now().Add(o.Timeout)
}

// Tokens returns the first tokens of a text, at most max, and whether these are all.
// Names in definitions have the class code.TokenDefinition, unless the definitions could
// not be found in time.
func (o Outline) Tokens(language code.Language, text []byte, max int) (tokens []code.Token, whole bool) {
	t := NewTokenizer(language, text)
	if t == nil {
		return nil, true
	}
	symbols, _ := outline.Extract(language, text, o.deadline()) // without them, no token is a definition
	for {
		token, ok := t.Next()
		if !ok {
			return tokens, true
		}
		if len(tokens) == max {
			return tokens, false
		}
		for len(symbols) > 0 && symbols[0].Offset < token.Start {
			symbols = symbols[1:]
		}
		if len(symbols) > 0 && symbols[0].Offset == token.Start && token.Class == code.TokenIdentifier {
			token.Class = code.TokenDefinition
		}
		tokens = append(tokens, token)
	}
}

// Describe returns the symbols of a text with details that are not stored in the index.
// The error reports why some are missing.
func (o Outline) Describe(language code.Language, text []byte) ([]code.Definition, error) {
	return outline.Describe(language, text, o.deadline())
}

// FragmentTokens returns the first tokens of a part of a text, such as the lines around a
// match, at most max. No token is a definition. If the part begins inside a block
// comment, the star at the beginning of its lines shows that; other parts are read as if
// nothing were open before them.
func (o Outline) FragmentTokens(language code.Language, text []byte, max int) (tokens []code.Token) {
	const opened = "/*"
	skip := uint32(0)
	if rest := bytes.TrimLeft(text, " \t"); bytes.HasPrefix(rest, []byte("* ")) || bytes.HasPrefix(rest, []byte("*/")) || bytes.HasPrefix(rest, []byte("*\n")) {
		text, skip = append([]byte(opened), text...), uint32(len(opened))
	}
	t := NewTokenizer(language, text)
	if t == nil {
		return nil
	}
	for len(tokens) < max {
		token, ok := t.Next()
		if !ok {
			break
		}
		if token.End <= skip {
			continue
		}
		token.Start, token.End = token.Start-min(token.Start, skip), token.End-skip
		tokens = append(tokens, token)
	}
	return tokens
}

// pathLanguages is the language table for LanguageOf.
var pathLanguages = sync.OnceValue(newLanguageTable)

// LanguageOf returns the language of a file by its path and the beginning of its text,
// which may be empty; it returns empty if the language is unknown.
func (o Outline) LanguageOf(path string, head []byte) code.Language {
	return pathLanguages().detectLanguage(splitPath(path), head[:min(len(head), HeadBytes)])
}
