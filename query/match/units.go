package match

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/internal/ranking"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Several words often describe a definition without being its name: one word is in the name, others
// are in the comment above it, in the name of its class or in its body. A unit is a definition
// with all of these. The best unit of a document is part of its score, and the line of its name is
// the best line, rather than a line of the comment.

// Weights of a term by the part of the unit that it is in. Only the best part counts.
const (
	unitName    = 1
	unitComment = 0.65
	unitParent  = 0.8
	unitBody    = 0.3
	// unitNameShare is the part of the worth of a unit that depends on how much of the name the
	// terms are.
	unitNameShare = 0.25
	// unitPoints are the points of a document whose best unit is a function that is named like all
	// terms, and unitAside is the share of them that test code and other demoted files get.
	unitPoints = 650
	unitAside  = 0.6
	// lineUnit is the weight of the line of the best unit's name, times the rarity of all terms.
	lineUnit = 5
)

// minUnitWeight is the weight of a term that is in every block.
const minUnitWeight = 0.1

const (
	maxUnitTerms    = 8       // terms of a query
	maxUnits        = 512     // definitions of a document whose names are compared
	maxWholeUnits   = 12      // those whose comments and bodies are read, the best by their names
	maxUnitName     = 256     // bytes of a name that terms are looked for in
	maxUnitComment  = 2 << 10 // bytes of a comment
	maxUnitBody     = 4 << 10 // bytes of a body
	maxUnitSearched = 128     // matches in a unit
)

// unit is a definition in the current document.
type unit struct {
	symbol int
	credit [maxUnitTerms]float32 // by term
	bytes  int                   // of the name that terms cover
	worth  float64
}

// setBestUnit sets the worth and the name of the best unit of a hit. The matches of the terms are in
// v.termMatches, by their start.
func (v *Matcher) setBestUnit(h *Hit) error {
	terms := len(v.Finder.s.Query.Atoms)
	if terms < 2 || terms > maxUnitTerms || len(v.termMatches) == 0 || v.Finder.s.Ranker == nil && !v.hasAllTerms(h.Doc) {
		return nil
	}
	if err := v.Finder.Seg.Reader.Outline(&v.Finder.cursor, h.Doc, v.outline); err != nil || v.outline.Len() == 0 {
		return err
	}
	lo, hi := v.Finder.Seg.Reader.TextRange(h.Doc)
	units, err := v.namedUnits(lo)
	if err != nil {
		return err
	}
	for i := range units {
		units[i].worth = v.unitWorth(&units[i])
	}
	slices.SortStableFunc(units, func(a, b unit) int { return cmp.Compare(b.worth, a.worth) })
	for i := range units[:min(len(units), maxWholeUnits)] {
		u := &units[i]
		if err := v.addUnitText(u, lo, hi); err != nil {
			return err
		}
		v.addParent(u, h)
		if worth := v.unitWorth(u); worth > float64(h.Unit) {
			start, end := v.outline.Range(u.symbol)
			h.Unit, h.UnitName = float32(worth), Match{Start: start, End: end}
		}
	}
	return nil
}

// hasAllTerms reports whether a document has all terms. With an or, some files have one of them,
// whose definition says nothing about the others.
func (v *Matcher) hasAllTerms(d segment.DocID) bool {
	for i, a := range v.Finder.s.Query.Atoms {
		if s := &v.atomStates[i]; !a.existenceOnly && (!s.known || s.doc != d || s.count == 0) {
			return false
		}
	}
	return true
}

// unitPoints returns the points for the best unit of a hit.
func (v *Matcher) unitPoints(h *Hit) float64 {
	points := unitPoints * float64(h.Unit)
	if ranking.IsProse(v.Finder.Seg.Reader.Language(h.Doc), string(v.Finder.Seg.Places.Path(h.Place))) {
		return 0 // a heading defines nothing
	}
	if IsAside(&v.Finder.Seg, h.Doc) && !v.Finder.s.MeansTests {
		points *= unitAside
	}
	return points
}

// IsUnit reports whether a range overlaps the name of the best unit.
func (h *Hit) IsUnit(start, end uint32) bool {
	return h.Unit > 0 && start < h.UnitName.End && end > h.UnitName.Start
}

// UnitShare returns the score that the best unit, with a given worth, adds to the line of its name.
func (s *Scope) UnitShare(worth float32) (share float64) {
	for i, a := range s.Query.Atoms {
		if !a.existenceOnly {
			share += s.rarityOf(i)
		}
	}
	return lineUnit * float64(worth) * share
}

// unitWeight returns the weight of a term in units. The most frequent words, such as the and of,
// have hardly any.
func (s *Scope) unitWeight(term int) float64 {
	if s.Query.Atoms[term].existenceOnly {
		return 0
	}
	if s.Ranker != nil {
		return s.rarityOf(term) // 0 or more
	}
	return s.rarityOf(term) - 1 + minUnitWeight
}

// namedUnits returns the definitions with a term in their names. lo is the offset of the document
// in the segment's text.
func (v *Matcher) namedUnits(lo int) ([]unit, error) {
	units := v.units[:0]
	defer func() { v.units = units }()
	for _, m := range v.termMatches {
		i := v.outline.At(m.Start, m.End)
		if i < 0 || i >= v.outline.Len() || len(units) > 0 && units[len(units)-1].symbol == i {
			continue
		}
		if len(units) == maxUnits {
			break
		}
		start, end := v.outline.Range(i)
		name, err := v.Finder.text.Bytes(lo+int(start), lo+int(end))
		if err != nil {
			return nil, err
		}
		u := unit{symbol: i}
		u.bytes = v.creditName(&u, name, unitName)
		units = append(units, u)
	}
	return units, nil
}

// creditName credits the terms in a name to a unit. It returns the bytes of the name that they
// cover.
func (v *Matcher) creditName(u *unit, name []byte, weight float32) (covered int) {
	name = name[:min(len(name), maxUnitName)]
	lower := bytes.ToLower(name)
	if len(lower) != len(name) {
		return 0
	}
	for k, a := range v.Finder.s.Query.Atoms {
		word := []byte(strings.ToLower(a.Literal))
		if v.Finder.s.Ranker != nil {
			word = v.Finder.s.Ranker.words[k]
		}
		if at := bytes.Index(lower, word); at >= 0 && len(word) > 0 {
			u.credit[k] = max(u.credit[k], weight*float32(wordShare(name, at, at+len(word))))
			covered += len(word)
		}
	}
	return covered
}

// addParent adds the terms in the name of a unit's parent to it; without a parent, those in the
// name of its file.
func (v *Matcher) addParent(u *unit, h *Hit) {
	parent := v.outline.Parent(u.symbol)
	if len(parent) == 0 {
		parent = v.Finder.Seg.Places.Path(h.Place)
		parent = parent[bytes.LastIndexByte(parent, '/')+1:]
	}
	v.creditName(u, parent, unitParent)
}

// unitWorth returns the worth of a unit, from 0 to 1.
func (v *Matcher) unitWorth(u *unit) float64 {
	cover, all := 0.0, 0.0
	for k := range v.Finder.s.Query.Atoms {
		weight := v.Finder.s.unitWeight(k)
		all += weight
		cover += weight * float64(u.credit[k])
	}
	if all == 0 {
		return 0
	}
	cover /= all
	start, end := v.outline.Range(u.symbol)
	share := min(float64(u.bytes)/float64(max(end-start, 1)), 1)
	return cover * cover * (1 - unitNameShare + unitNameShare*share) * ranking.KindWeight(v.outline.Kind(u.symbol))
}

// addUnitText adds the terms in the comment, the parent and the body of a unit to it.
func (v *Matcher) addUnitText(u *unit, lo, hi int) error {
	from, name, to, err := v.unitRange(u.symbol, lo, hi)
	if err != nil {
		return err
	}
	first := sort.Search(len(v.termMatches), func(i int) bool { return v.termMatches[i].Start >= from })
	for _, m := range v.termMatches[first:min(len(v.termMatches), first+maxUnitSearched)] {
		switch credit := &u.credit[m.Atom]; {
		case m.Start >= to:
			return nil
		case m.Start < name:
			*credit = max(*credit, unitComment)
		default:
			*credit = max(*credit, unitBody)
		}
	}
	return nil
}

// unitTypes are the kinds of definitions that contain others, which are units themselves.
var unitTypes = map[code.SymbolKind]bool{
	"class": true, "struct": true, "interface": true, "trait": true, "enum": true, "union": true, "object": true, "record": true, "protocol": true,
	"module": true, "namespace": true, "package": true, "extension": true, "implementation": true, "mixin": true, "actor": true, "contract": true,
}

// unitRange returns the offsets in the document of a symbol's comment, its name and the end of its
// body.
func (v *Matcher) unitRange(symbol, lo, hi int) (comment, name, end uint32, err error) {
	name, after := v.outline.Range(symbol)
	least := max(int(name)-maxUnitComment, 0)
	if symbol > 0 {
		_, before := v.outline.Range(symbol - 1)
		least = max(least, min(int(before), int(name)))
	}
	text, err := v.Finder.text.Bytes(lo+least, lo+int(name))
	if err != nil {
		return 0, 0, 0, err
	}
	comment = uint32(least + commentStart(text))
	lines := v.outline.Lines(symbol)
	most := min(lo+int(after)+maxUnitBody, hi)
	if next := symbol + 1; next < v.outline.Len() && unitTypes[v.outline.Kind(symbol)] {
		start, _ := v.outline.Range(next)
		most = min(most, max(lo+int(start), lo+int(after)))
	}
	if text, err = v.Finder.text.Bytes(lo+int(after), most); err != nil {
		return 0, 0, 0, err
	}
	end = after
	for range lines {
		i := bytes.IndexByte(text[end-after:], '\n')
		if i < 0 {
			return comment, name, uint32(most - lo), nil
		}
		end += uint32(i) + 1
	}
	return comment, name, end, nil
}

// commentStart returns where the comment begins that ends before the last line of a text, or the
// start of that line if there is none. Attributes and annotations may follow the comment.
func commentStart(text []byte) int {
	start, inBlock := bytes.LastIndexByte(text, '\n')+1, false
	for start > 0 {
		line := bytes.LastIndexByte(text[:start-1], '\n') + 1
		trimmed := bytes.TrimSpace(text[line : start-1])
		opens := bytes.HasPrefix(trimmed, []byte("/*"))
		switch {
		case len(trimmed) == 0 && !inBlock:
			return start
		case bytes.HasSuffix(trimmed, []byte("*/")):
			inBlock = !opens
		case opens:
			inBlock = false
		case !inBlock && bytes.IndexByte([]byte("/#*-;%@[|'\""), trimmed[0]) < 0:
			return start
		}
		start = line
	}
	return start
}
