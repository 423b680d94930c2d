package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// searchRequest is the body of POST /api/search.
type searchRequest struct {
	Query         *string  `json:"query"`
	Matches       *float64 `json:"matches"`
	ContextLines  *float64 `json:"contextLines"`
	Whole         bool     `json:"whole"`
	Regex         bool     `json:"isRegexEnabled"`
	CaseSensitive bool     `json:"isCaseSensitivityEnabled"`
	// Additions: Display bounds the matches that are returned while Matches bounds
	// those that are counted; Explain asks for the plan.
	Display *float64 `json:"display"`
	Explain bool     `json:"explain"`
}

// parsed is a searchRequest that passed the checks.
type parsedSearch struct {
	search.Request
	// capped says that more matches were asked for than the server looks for.
	capped bool
	took   time.Duration // to parse the query
}

func (s *Server) parseSearch(r *http.Request) (*parsedSearch, error) {
	var in searchRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	if in.Query == nil {
		return nil, fmt.Errorf("%w: query is required", errBody)
	}
	s.target(r, audit.TargetInstance, "", "query", *in.Query)
	out, err := in.bounds(s.o.MaxMatches)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	out.Public = s.isPublic
	out.Query, err = syntax.Parse(*in.Query, syntax.Options{Regexp: in.Regex, CaseSensitive: in.CaseSensitive})
	out.took = time.Since(started)
	return out, err
}

func (in *searchRequest) bounds(maxMatches int) (*parsedSearch, error) {
	if in.Matches == nil {
		return nil, fmt.Errorf("%w: matches is required: how many matches to look for, 1 to %d", errBody, maxMatches)
	}
	matches, err := whole("matches", in.Matches, 0, 1)
	if err != nil {
		return nil, err
	}
	display, err := whole("display", in.Display, 0, 0)
	if err != nil {
		return nil, err
	}
	lines, err := whole("contextLines", in.ContextLines, 0, 0)
	if err != nil {
		return nil, err
	}
	if lines > MaxContextLines {
		return nil, fmt.Errorf("%w: contextLines: want at most %d, have %d", errBody, MaxContextLines, lines)
	}
	return &parsedSearch{
		Request: search.Request{Matches: min(matches, maxMatches), Display: min(display, maxMatches), ContextLines: lines, Whole: in.Whole, Explain: in.Explain},
		capped:  matches > maxMatches,
	}, nil
}

func (s *Server) search(r *http.Request) (*reply, error) {
	in, err := s.parseSearch(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.SearchTimeout)
	defer cancel()
	view, err := s.view(ctx)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	// What the result holds may be the view's memory: on success it is released
	// once the answer has been written, else here, even after a panic.
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
	response := s.newSearchResponse(in, result)
	if response.IncompleteReason != "" {
		s.metrics.limited.WithLabelValues(response.IncompleteReason).Inc()
	}
	out.body = response
	out.release = func() { result.Release(); view.Release() }
	return out, nil
}

// searchError tells the time-out of the server from the client's leaving. The
// only thing that a search may look for and not find is a search context.
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
