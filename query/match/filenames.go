package match

import (
	"bytes"
	"slices"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match/internal/scan"
)

// MayBeNamed reports whether the name of a file in a view of this process may contain all
// words, which are in lower case. For a caller who may not see everything, it depends only on
// the names that this caller sees, not on those which share a filter with them.
func MayBeNamed(view corpus.View, words []string) bool {
	restricted := corpus.Restricted(view)
	for _, seg := range view.Segments() {
		mayName := seg.Visible != nil || !slices.ContainsFunc(words, func(w string) bool { return !seg.Places.MayName(w) })
		if mayName && (!restricted || namesFile(&seg, words)) {
			return true
		}
	}
	return false
}

// namesFile reports whether the name of a visible file contains all words, in any letter
// case.
func namesFile(s *corpus.Segment, words []string) bool {
	finders := make([]*scan.Literals, len(words))
	for i, w := range words {
		finders[i] = scan.NewLiterals([]string{string(postings.AppendFold(nil, []byte(w)))}, true)
	}
	for from, to := range s.VisibleRuns() {
		for i := from; i < to; i++ {
			path := s.Places.Path(i)
			name := path[bytes.LastIndexByte(path, '/')+1:]
			if !slices.ContainsFunc(finders, func(f *scan.Literals) bool {
				f.Reset(name)
				start, _ := f.Next(0)
				return start < 0
			}) {
				return true
			}
		}
	}
	return false
}
