package corpus

import (
	"iter"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/bitset"
)

// VisibleRuns iterates over the runs of successive places that exist for the caller: the
// first place and the one after the last.
func (s *Segment) VisibleRuns() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		all := s.Places.Len()
		if s.Visible == nil {
			if all > 0 {
				yield(0, all)
			}
			return
		}
		visible := bitset.Set(s.Visible)
		for from := visible.Next(0); from >= 0 && from < all; {
			to := from + 1
			for to < all && visible.Has(to) {
				to++
			}
			if !yield(from, to) {
				return
			}
			from = visible.Next(to)
		}
	}
}

// RepoRuns iterates over the runs of successive places of one repository that exist for the
// caller: the first place and the one after the last.
func (s *Segment) RepoRuns() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		var ends []uint32
		if s.Visible == nil { // else the work would depend on hidden places
			ends = s.Places.RepoEnds()
		}
		from := 0
		for _, end := range ends {
			if !yield(from, int(end)) {
				return
			}
			from = int(end)
		}
		if from > 0 {
			return
		}
		repos := s.Places.Repo
		for from, to := range s.VisibleRuns() {
			for from < to {
				end := from + 1
				for end < to && repos[end] == repos[from] {
					end++
				}
				if !yield(from, end) {
					return
				}
				from = end
			}
		}
	}
}

// VisibleDocuments iterates over the documents that have a place for the caller.
func (s *Segment) VisibleDocuments() iter.Seq[segment.DocID] {
	return func(yield func(segment.DocID) bool) {
		next := segment.DocID(0)
		for from, to := range s.VisibleRuns() {
			for _, d := range s.Places.Doc[from:to] {
				if d < next {
					continue
				}
				if next = d + 1; !yield(d) {
					return
				}
			}
		}
	}
}

// VisibleBytes returns the size of the text and symbol names of the visible documents, or a
// number above most as soon as it exceeds that.
func (s *Segment) VisibleBytes(most int) (size int) {
	for d := range s.VisibleDocuments() {
		lo, hi := s.Reader.TextRange(d)
		from, to := s.Reader.SymbolRange(d)
		if size += hi - lo + to - from; size > most {
			break
		}
	}
	return size
}

// ShowsBetween reports whether a document from first to last has a place for the caller.
func (s *Segment) ShowsBetween(first, last segment.DocID) bool {
	if s.Visible == nil {
		return true
	}
	place := bitset.Set(s.Visible).Next(int(s.Places.First[first]))
	return place >= 0 && place < int(s.Places.First[last+1])
}
