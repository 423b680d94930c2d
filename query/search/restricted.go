package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/schemas/code"
)

// hideCosts clears the counts and the durations of a result, so that it reveals nothing
// about the index beyond its matches. The caller can measure the time of an answer, but
// not as precisely as the server.
func (r *Result) hideCosts() {
	s := &r.Stats
	r.CostsHidden = true
	r.Stats = Stats{Matches: s.Matches, Files: s.Files, Displayed: s.Displayed}
	if r.Explain != nil {
		r.Explain.Segments, r.Explain.Stages = []SegmentExplain{}, Stages{}
	}
}

// A namedContext is a search context that a query names.
type namedContext struct {
	name     string
	contains corpus.Context
}

// contextError reports a search context that does not exist for the caller; near holds
// the nearest names of contexts that do.
type contextError struct {
	name string
	near []string
}

func (e *contextError) Error() string {
	text := fmt.Sprintf("search context %q: %v", e.name, code.ErrNotFound)
	if len(e.near) > 0 {
		text += "; did you mean " + strings.Join(e.near, " or ") + "?"
	}
	return text
}

func (e *contextError) Unwrap() error { return code.ErrNotFound }

// suggestContexts adds suggestions to the error about a search context that is not
// configured.
func (s *scope) suggestContexts(err error) error {
	var unknown *contextError
	if errors.As(err, &unknown) {
		return &contextError{unknown.name, s.nearContexts(unknown.name)}
	}
	return err
}

// checkContexts returns an error for a search context that contains no repository that
// exists for the caller: its name would reveal other repositories.
func (s *scope) checkContexts() error {
	for _, c := range s.c.namedContexts {
		if !s.hasRepository(c.contains) {
			return &contextError{c.name, s.nearContexts(c.name)}
		}
	}
	return nil
}

// hasRepository reports whether a search context contains a repository that exists for
// the caller.
func (s *scope) hasRepository(holds corpus.Context) bool {
	return slices.ContainsFunc(s.repos, func(r *corpus.Repository) bool { return r != nil && holds(r.Name) })
}

// candidateBlocks counts the candidate blocks of an atom. For restricted callers, it
// counts only blocks with visible text, and stops once the count no longer matters.
func (v *candidateFinder) candidateBlocks(a *atom, f *atomCandidates) int {
	if !v.s.restricted {
		return f.blocks.Len()
	}
	n := 0
	for b := f.blocks.Next(0); b >= 0 && n <= maxOrderedMatches/orderShare; b = f.blocks.Next(b + 1) {
		if v.showsBlock(a.symbols, b) {
			n++
		}
	}
	return n
}

// showsBlock reports whether a block contains text or symbols of a document that the
// caller may see.
func (v *candidateFinder) showsBlock(symbols bool, block int) bool {
	r := v.seg.Reader
	if r.Documents() == 0 {
		return false
	}
	first, _ := r.TextRange(0)
	end, of := r.TextEnd(), r.DocumentAt
	if symbols {
		first, _ = r.SymbolRange(0) // a line feed precedes it
		end, of = r.SpaceEnd(), r.DocumentOfSymbol
	}
	from, to := max(block*postings.BlockBytes, first), min((block+1)*postings.BlockBytes, end)
	if from >= to {
		return false
	}
	for d, last := of(from), of(to-1); d <= last; d++ {
		if v.seg.FirstPlace(d) >= 0 {
			return true
		}
	}
	return false
}
