package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/query/api/internal/contract"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// parsedSearch is a validated request.
type parsedSearch struct {
	search.Request
	// capped is set if the request asks for more matches than the server returns.
	capped      bool
	took        time.Duration // time to parse the query
	minPosition string
	// coverage is what the search sees of the log.
	coverage Coverage
}

func (s *Server) parseSearch(r *http.Request) (*parsedSearch, error) {
	var in wire.SearchRequest
	err := s.decodeBody(r, &in)
	if fault, ok := errors.AsType[*contract.Fault](err); ok && fault.Empty("query") {
		err = nil // the parser reports it with advice and the code for queries
	}
	if err != nil {
		return nil, err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetInstance, "", "query", in.Query)
	out := newParsedSearch(&in, s.o.MaxMatches)
	started := time.Now()
	out.Public, out.NewView = s.isPublic, true
	options := syntax.Options{Regexp: in.IsRegexEnabled, CaseSensitive: in.IsCaseSensitivityEnabled}
	out.Query, err = s.o.Accounts.ParseQuery(auth.From(r.Context()), in.Query, options)
	out.took = time.Since(started)
	return out, err
}

// newParsedSearch adjusts options that the document allows but the server does not
// support.
func newParsedSearch(in *wire.SearchRequest, maxMatches int) *parsedSearch {
	brief := in.Advice != nil && !*in.Advice
	return &parsedSearch{
		Request: search.Request{
			Matches:      min(in.Matches, maxMatches),
			Display:      min(in.Display, maxMatches),
			ContextLines: in.ContextLines,
			Whole:        in.Whole,
			Explain:      in.Explain,
			Related:      !brief,
			Brief:        brief,
			Facets:       in.Facets,
		},
		capped:      in.Matches > maxMatches,
		minPosition: in.MinPosition,
	}
}

func (s *Server) runSearch(r *http.Request) (*reply, error) {
	in, err := s.parseSearch(r)
	if err != nil {
		return nil, err
	}
	ctx, err := s.awaitPosition(r, in.minPosition)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.SearchTimeout)
	defer cancel()
	view, coverage, err := s.openView(ctx)
	if in.coverage = coverage; err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	// The result may refer to the view's memory: on success the view is released once the
	// response has been written, otherwise here, even after a panic.
	out := &reply{status: http.StatusOK}
	defer func() {
		if out.release == nil {
			view.Release()
		}
	}()
	result, err := s.o.Searcher.Search(ctx, view, in.Request)
	if err != nil {
		return nil, searchError(r, err)
	}
	response := s.newSearchResponse(ctx, in, result)
	if response.IncompleteReason != "" {
		s.metrics.limited.WithLabelValues(response.IncompleteReason).Inc()
	}
	out.body = response
	out.release = func() { result.Release(); view.Release() }
	return out, nil
}

// searchError distinguishes the server's timeout from a client that disconnected. The
// only thing that a search can fail to find is a search context.
func searchError(r *http.Request, err error) error {
	if errors.Is(err, code.ErrNotFound) {
		return fmt.Errorf("%w: %w", errContext, err)
	}
	if r.Context().Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return errTimedOut
	}
	if r.Context().Err() != nil {
		return fmt.Errorf("search: %w", r.Context().Err())
	}
	return err
}
