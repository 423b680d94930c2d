package match

import (
	"slices"

	"github.com/quarrysearch/quarry/query/internal/ranking"
)

// DefinitionWeight returns the weight of the kind of the symbol that a hit defines, and of the
// letter case of its name, the highest of several. If no match is the name of a symbol, it returns
// that of other kinds.
func (v *Matcher) DefinitionWeight(h *Hit) (float64, error) {
	best, literals := 0.0, v.Finder.s.Query.Literals
	if err := v.Finder.Seg.Reader.Outline(&v.Finder.cursor, h.Doc, v.outline); err != nil {
		return 0, err
	}
	lo, _ := v.Finder.Seg.Reader.TextRange(h.Doc)
	for _, m := range h.Matches {
		i := int(m.Symbol)
		if i < 0 {
			i = v.outline.At(m.Start, m.End)
		}
		if i < 0 || i >= v.outline.Len() {
			continue
		}
		if start, end := v.outline.Range(i); m.Symbol < 0 && (start != m.Start || end != m.End) {
			continue
		}
		weight := ranking.KindWeight(v.outline.Kind(i))
		if weight > best && m.Symbol < 0 && len(literals) > 0 {
			name, err := v.Finder.text.Bytes(lo+int(m.Start), lo+int(m.End))
			if err != nil {
				return 0, err
			}
			if !slices.ContainsFunc(literals, func(l string) bool { return l == string(name) }) {
				weight *= ranking.ScoreDefinitionFold
			}
		}
		best = max(best, weight)
	}
	if best == 0 {
		best = ranking.KindOther
	}
	return best, nil
}
