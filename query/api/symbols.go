package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// listSymbols lists the definitions of a repository or a file.
func (s *Server) listSymbols(r *http.Request) (*reply, error) {
	p := queryParams(r)
	request := navigate.SymbolsRequest{
		Repository: p.textParam("repo", code.MaxNameBytes), Revision: p.textParam("ref", code.MaxRefBytes), Path: p.textParam("path", maxPathParameter),
		Prefix: p.textParam("prefix", code.MaxSymbolBytes), Kind: p.textParam("kind", maxKindParameter), Parent: p.textParam("parent", code.MaxSymbolBytes),
	}
	page, perPage := p.intParam("page"), p.intParam("perPage")
	if p.err != nil {
		return nil, p.err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetInstance, "", "prefix", request.Prefix, "repo", request.Repository)
	if _, err := s.visibleRepository(r.Context(), request.Repository); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.SearchTimeout)
	defer cancel()
	view, coverage, err := s.openView(ctx)
	if err != nil {
		return nil, fmt.Errorf("list symbols: %w", err)
	}
	defer view.Release()
	found, err := s.navigator.Symbols(ctx, view, request)
	if errors.Is(err, navigate.ErrInvalid) {
		p.addErrorf("%s", strings.TrimPrefix(err.Error(), navigate.ErrInvalid.Error()+": "))
		return nil, p.err
	}
	if err != nil {
		return nil, searchError(r, err)
	}
	found.Exhaustive = found.Exhaustive && s.showsAll(view, coverage)
	first := min((page-1)*perPage, len(found.Symbols))
	return okReply(s.newListedSymbols(found, found.Symbols[first:min(first+perPage, len(found.Symbols))])), nil
}

// maxKindParameter exceeds the longest value of the filter kind.
const maxKindParameter = 64

// newListedSymbols copies the symbols: the view may be released before the response is
// written.
func (s *Server) newListedSymbols(found *navigate.SymbolList, page []navigate.ListedSymbol) *wire.ListedSymbols {
	out := &wire.ListedSymbols{
		TotalCount: len(found.Symbols), IsExhaustive: found.Exhaustive,
		Kinds: []wire.SymbolCount{}, Symbols: make([]wire.ListedSymbol, len(page)),
	}
	for _, k := range found.CountKinds() {
		out.Kinds = append(out.Kinds, wire.SymbolCount{Kind: string(k.Kind), Count: k.Count})
	}
	for i := range page {
		l := &page[i]
		out.Symbols[i] = wire.ListedSymbol{
			Name: l.Symbol.Name, Kind: string(l.Symbol.Kind), Parent: l.Symbol.Parent, ParentKind: string(l.Symbol.ParentKind),
			Path: l.Path, Language: string(l.Language), Line: l.Start.LineNumber, Column: l.Start.Column, EndLine: int(l.Symbol.EndLine),
			WebURL: s.fileURL(l.Repo.Name, l.Ref, l.Path),
		}
	}
	return out
}
