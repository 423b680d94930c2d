package match

import "github.com/quarrysearch/quarry/query/internal/ranking"

// DefinitionWeight returns the weight of the kind of the symbol that a hit defines, the
// highest of several. If no match is the name of a symbol, it returns that of other kinds.
func (v *Matcher) DefinitionWeight(h *Hit) (float64, error) {
	best := 0.0
	if err := v.Finder.Seg.Reader.Outline(&v.Finder.cursor, h.Doc, v.outline); err != nil {
		return 0, err
	}
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
		best = max(best, ranking.KindWeight(v.outline.Kind(i)))
	}
	if best == 0 {
		best = ranking.KindOther
	}
	return best, nil
}
