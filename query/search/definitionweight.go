package search

// definitionWeight returns the weight of the kind of the symbol that a hit defines, the
// highest of several. If no match is the name of a symbol, it returns that of other kinds.
func (v *documentMatcher) definitionWeight(h *documentHit) (float64, error) {
	best := 0.0
	if err := v.finder.seg.Reader.Outline(&v.finder.cursor, h.doc, v.outline); err != nil {
		return 0, err
	}
	for _, m := range h.matches {
		i := int(m.symbol)
		if i < 0 {
			i = v.outline.At(m.start, m.end)
		}
		if i < 0 || i >= v.outline.Len() {
			continue
		}
		if start, end := v.outline.Range(i); m.symbol < 0 && (start != m.start || end != m.end) {
			continue
		}
		best = max(best, weightOf(v.outline.Kind(i)))
	}
	if best == 0 {
		best = kindOther
	}
	return best, nil
}
