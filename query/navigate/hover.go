package navigate

import (
	"context"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/syntax"
)

// Description describes a symbol.
type Description struct {
	// Signature is the declaration without a body, Documentation is in Markdown; both may
	// be empty.
	Signature, Documentation string
	// Precise reports whether they come from a precise index.
	Precise bool
	// Definition is the file of the first definition, with one match; nil if none is
	// known.
	Definition *File
	// Notices explain why there is no description.
	Notices []syntax.Notice
}

// Describe describes the symbol at r.Position, using a precise index or else the outline
// of its definition. Its errors wrap ErrInvalid or come from the search.
func (n *Navigator) Describe(ctx context.Context, v corpus.View, r Request) (*Description, error) {
	found, err := n.Definitions(ctx, v, r)
	if err != nil {
		return nil, err
	}
	out := &Description{Notices: found.Notices}
	if len(found.Files) > 0 {
		first := found.Files[0]
		first.Matches = first.Matches[:1]
		out.Definition = &first
		if d := first.Matches[0].Definition; d != nil {
			out.Signature, out.Documentation = d.Signature, d.Doc
		}
	}
	if r.Position == nil {
		return out, nil
	}
	at, err := n.openPosition(ctx, v, &r)
	if err != nil {
		return nil, err
	}
	m := n.meaningAt(ctx, at)
	if m == nil {
		return out, nil
	}
	if i := n.precise.Describe(ctx, m.scope); i != nil && (i.Signature != "" || i.Documentation != "") {
		out.Signature, out.Documentation, out.Precise, out.Notices = i.Signature, i.Documentation, true, nil
	}
	return out, nil
}
