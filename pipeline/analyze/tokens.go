package analyze

import (
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze/internal/outline"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Tokenizer reads the tokens of a text for display, from its beginning or from a
// Checkpoint: NewTokenizer.
type Tokenizer = outline.Tokenizer

// Checkpoint is the state of a Tokenizer between two tokens. A Tokenizer for the same
// language and text goes on from it, so that a part of a large text can be shown
// without reading what is before it.
type Checkpoint = outline.Checkpoint

// NewTokenizer returns a Tokenizer at the beginning of a text. Languages without a
// grammar or table are read by a general one. It returns nil for prose, which has no
// tokens. No token has the class code.TokenDefinition: Outline.Tokens knows symbols.
func NewTokenizer(language code.Language, text []byte) *Tokenizer {
	return outline.NewTokenizer(language, text)
}

// Outline reads tokens and symbols from a text when they are asked for. Nothing of
// what it returns is kept in an index. The zero value is ready to use, and it is safe
// for concurrent use.
type Outline struct {
	// Timeout bounds the search for symbols in one text. Default: DefaultOutlineTimeout;
	// negative: no limit.
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

// Tokens returns the first tokens of a text, at most max, and whether they are all.
// Names where something is defined have the class code.TokenDefinition, unless the
// definitions could not be found in time.
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

// Describe returns the symbols of a text with what is not kept in the index. The
// error says why some are missing.
func (o Outline) Describe(language code.Language, text []byte) ([]code.Definition, error) {
	return outline.Describe(language, text, o.deadline())
}
