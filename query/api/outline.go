package api

import (
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Outline extracts the tokens and the symbols of a text. Both methods bound their time.
type Outline interface {
	// Tokens returns at most max tokens of a text, in order, and whether these are all.
	Tokens(language code.Language, text []byte, max int) (tokens []code.Token, whole bool)
	// Describe returns the definitions of a text, ordered by name. The error explains why
	// definitions are missing.
	Describe(language code.Language, text []byte) ([]code.Definition, error)
}

// maxTokens bounds the tokens of one response, at about six bytes each.
const maxTokens = 500_000

// addOutline adds the tokens and symbols of the text in the response. Offsets refer to
// the text as the response encodes it: bytes that are not UTF-8 are replaced.
func (s *Server) addOutline(answer *wire.FileSource, language code.Language, tokens, symbols bool) {
	if !tokens && !symbols {
		return
	}
	if !utf8.ValidString(answer.Source) {
		answer.Source = string([]rune(answer.Source)) // each byte separately, as in JSON
	}
	text := []byte(answer.Source)
	if tokens {
		found, whole := s.o.Outline.Tokens(language, text, maxTokens)
		answer.Tokens = newFileTokens(found, whole)
	}
	if symbols {
		found, err := s.o.Outline.Describe(language, text)
		if err != nil {
			s.o.Logger.Warn("symbols of a file could not be read", "language", language, "error", err)
			answer.SymbolsMissing = "symbols are missing: the file takes too long to read"
		}
		answer.Symbols = newFileSymbols(found)
	}
}

func newFileTokens(tokens []code.Token, whole bool) wire.FileTokens {
	out := wire.FileTokens{IsWhole: whole, Data: make([]int, 0, 3*len(tokens))}
	for _, name := range code.TokenClasses {
		out.Classes = append(out.Classes, wire.FileTokensClasses(name))
	}
	at := uint32(0)
	for _, t := range tokens {
		out.Data = append(out.Data, int(t.Start-at), int(t.End-t.Start), int(t.Class))
		at = t.End
	}
	return out
}

func newFileSymbols(found []code.Definition) []wire.FileSymbol {
	out := make([]wire.FileSymbol, len(found))
	for i, d := range found {
		out[i] = wire.FileSymbol{
			Name: d.Name, Kind: string(d.Kind), Parent: d.Parent, ParentKind: string(d.ParentKind),
			Line: int(d.Line), Column: int(d.Column), EndLine: int(d.EndLine),
			NameRange: wire.ByteRange{Start: int(d.Offset), End: int(d.Offset) + len(d.Name)},
			Signature: d.Signature, Visibility: wire.FileSymbolVisibility(d.Visibility), IsDeclaration: d.Declaration, Doc: d.Doc,
		}
		if d.BodyEnd > 0 {
			out[i].BodyRange = wire.ByteRange{Start: int(d.BodyStart), End: int(d.BodyEnd)}
		}
	}
	return out
}
