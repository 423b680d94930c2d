package navigate

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Position is where a symbol is used.
type Position struct {
	// Repository is the full name of the repository. Revision is the short or full name
	// of an indexed branch or tag; empty or HEAD means the default branch.
	Repository, Revision, Path string
	// Line counts from 1. Column counts characters from 1 and may be any column of the
	// symbol; 0 means the first occurrence of the symbol in the line.
	Line, Column int
}

// maxPathBytes bounds the path of a position.
const maxPathBytes = 4096

func (p *Position) validate() error {
	switch {
	case p.Repository == "" || len(p.Repository) > code.MaxNameBytes:
		return fmt.Errorf("%w: position.repoName: want 1 to %d bytes, have %d", ErrInvalid, code.MaxNameBytes, len(p.Repository))
	case len(p.Revision) > code.MaxRefBytes:
		return fmt.Errorf("%w: position.revisionName: want at most %d bytes, have %d", ErrInvalid, code.MaxRefBytes, len(p.Revision))
	case p.Path == "" || len(p.Path) > maxPathBytes:
		return fmt.Errorf("%w: position.path: want 1 to %d bytes, have %d", ErrInvalid, maxPathBytes, len(p.Path))
	case p.Line < 1:
		return fmt.Errorf("%w: position.lineNumber: want at least 1, have %d", ErrInvalid, p.Line)
	case p.Column < 0:
		return fmt.Errorf("%w: position.column: want at least 1, have %d", ErrInvalid, p.Column)
	}
	return nil
}

// Bounds on resolving a position. Beyond them, an answer contains the results so far.
const (
	maxResolveTime     = time.Second
	maxResolveSearches = 64
	maxResolveBytes    = 16 << 20 // of files
	maxResolveDepth    = 10       // nested type lookups
	maxLookup          = 500      // definitions of one name
)

// openPosition reads the file of r.Position. The resolver has no home if the symbol is
// not at the position.
func (n *Navigator) openPosition(ctx context.Context, v corpus.View, r *Request) (*resolver, error) {
	out := &resolver{
		navigator: n,
		view:      v,
		request:   r,
		revision:  r.Position.Revision,
		budget:    budget{time.Now().Add(maxResolveTime), maxResolveSearches, maxResolveBytes},
		files:     map[fileKey]*source{},
		sources:   map[*names.File]*source{},
		lookups:   map[lookupKey][]candidate{},
		compared:  map[targetPair]certainty{},
	}
	p := r.Position
	in := Request{Repository: p.Repository, Revision: p.Revision}
	query := in.buildQuery(&syntax.And{Children: []syntax.Query{
		&syntax.Text{Pattern: wholeWord(r.Symbol), Regexp: true, Case: syntax.CaseYes},
		&syntax.File{Pattern: "^" + regexp.QuoteMeta(p.Path) + "$", Case: syntax.CaseYes},
	}})
	found, err := n.searcher.Search(ctx, v, search.Request{Query: query, Matches: 1, Whole: true, WithoutAdvice: true})
	if err != nil {
		return nil, fmt.Errorf("find the position of %q: %w", r.Symbol, err)
	}
	defer found.Release()
	for i := range found.Files {
		f := &found.Files[i]
		if f.Path != p.Path || len(f.Content) == 0 {
			continue
		}
		home := out.readSource(f)
		if out.token, err = home.findToken(r); err != nil {
			return out, nil
		}
		out.home = home
		break
	}
	isNamed := func(x *corpus.Repository) bool { return x != nil && x.Name == p.Repository }
	if out.home == nil && len(search.LostPartitions(v)) > 0 && !slices.ContainsFunc(v.Repositories(), isNamed) {
		return nil, fmt.Errorf("%w: a shard is lost, and it may hold %s", search.ErrUnavailable, p.Repository)
	}
	return out, nil
}

var errNoSymbol = errors.New("the symbol is not at the position")

// findToken returns the token of the symbol at the position.
func (s *source) findToken(r *Request) (int, error) {
	offset, ok := names.Offset(s.text, r.Position.Line, max(r.Position.Column, 1))
	if !ok {
		return 0, errNoSymbol
	}
	i, ok := s.names.TokenFrom(offset)
	if r.Position.Column > 0 {
		if i, ok = s.names.TokenAt(offset); !ok && offset > 0 {
			i, ok = s.names.TokenAt(offset - 1) // at the end of the name
		}
		if !ok || s.names.Word(i) != r.Symbol {
			return 0, errNoSymbol
		}
		return i, nil
	}
	for ; ok && s.names.InLine(i, offset); i++ {
		if s.names.Word(i) == r.Symbol {
			return i, nil
		}
	}
	return 0, errNoSymbol
}

// emptyResult reports that the symbol is not at the position.
func (r *Request) emptyResult() *Result {
	p := r.Position
	return &Result{Exhaustive: true, Notices: []syntax.Notice{{
		Code: syntax.PositionWithoutSymbol, Parameter: "symbolName", At: syntax.Span{End: len(r.Symbol)},
		Message: fmt.Sprintf("There is no %s at line %d of %s in %s, or that file is not indexed.", r.Symbol, p.Line, p.Path, p.Repository),
	}}}
}
