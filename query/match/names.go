package match

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/internal/bitset"
	"github.com/quarrysearch/quarry/query/internal/identifier"
	"github.com/quarrysearch/quarry/query/internal/ranking"
	"github.com/quarrysearch/quarry/query/match/internal/scan"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Name is a term read as the name of a symbol or file.
type Name struct {
	Exact string // as written
	Fold  string // folded
	// Joined means that the words of the name are all terms of the query.
	Joined bool
}

// Bounds of names.
const (
	// maxNames bounds the names that are looked up. MaxNameBytes bounds their length, so
	// that a name and its enclosing line feeds lie in one block.
	maxNames = 8
	// maxJoinedNames bounds the names that all terms together may form.
	maxJoinedNames = 6
	// maxNamingTerms is the maximum number of terms of a query whose terms are looked up
	// as names; more terms are a piece of text.
	maxNamingTerms = 3
	MaxNameBytes   = postings.OverhangBytes - 4
)

// NamesOf returns the names that the terms of a query may be.
func NamesOf(c *Query) []Name {
	var names []Name
	if c.Joined != "" {
		for _, name := range joinedNames(c) {
			names = appendName(names, name)
		}
		for i := range names {
			names[i].Joined = true
		}
	}
	if len(c.Literals) > maxNamingTerms {
		return names
	}
	for _, a := range c.Atoms {
		switch {
		case a.existenceOnly || a.pattern == nil:
		case a.Literal != "":
			names = appendName(names, a.Literal)
		case a.pattern.Exact:
			for _, literal := range a.pattern.Sets[0] {
				names = appendName(names, literal)
			}
		}
	}
	return names
}

// joinedNames returns the identifiers that the terms of a query may form: with nothing
// between the terms, with underscores, and with one underscore, as in TestReader_ReadAt.
func joinedNames(c *Query) []string {
	names := []string{c.Joined, strings.Join(c.Literals, "_")}
	for i := 1; i < len(c.Literals) && len(c.Literals) > 2 && len(names) < maxJoinedNames; i++ {
		names = append(names, strings.Join(c.Literals[:i], "")+"_"+strings.Join(c.Literals[i:], ""))
	}
	return names
}

func appendName(names []Name, written string) []Name {
	exact := identifier.Trim(written)
	n := Name{Exact: exact, Fold: string(postings.AppendFold(nil, []byte(exact)))}
	if exact == "" || len(n.Fold) > MaxNameBytes || len(names) == maxNames || slices.Contains(names, n) {
		return names
	}
	return append(names, n)
}

// nameSearcher finds the documents of one segment that have the name of a term: they
// define such a symbol, or their file has this name.
type nameSearcher struct {
	v       *Finder
	joined  bitset.Set           // documents that define a joined name
	exact   bitset.Set           // documents that define the name in its letter case
	defines bitset.Set           // documents that define it in any letter case
	files   bitset.Set           // files with the name
	any     bitset.Set           // all documents with the name
	found   []segment.Definition // of the last name, also of hidden documents
}

// Named are the documents of a segment that have the name of a term.
type Named struct {
	Groups [namedGroups][]segment.DocID
	// Defining are those that define a symbol with the name, and All includes the files with
	// that name; nil if they are not known.
	Defining, All bitset.Set
	// AllDefine means that the group of the best definitions has every document that defines
	// the only name, in any letter case.
	AllDefine bool
}

// Groups of named documents.
const (
	namedJoined  = iota // define a symbol whose words are the terms
	namedDefines        // define one with the name of a term, the best of them
	namedOther          // define others, or are files with the name
	namedAside          // those of the others that are test code, vendored or generated
	namedGroups
)

// FindNamed returns the documents of the current segment that have one of the names. They are
// not known in a segment of an earlier version, which does not list what its documents define.
// segments is the number of segments that share the bounds on the documents of namedDefines; 0
// if the groups do not matter.
func (v *Finder) FindNamed(names []Name, segments int) (found Named, err error) {
	if !v.Seg.NoIndex && !v.Seg.Reader.HasDefinitions() {
		return found, nil
	}
	documents := v.Seg.Reader.Documents()
	n := &nameSearcher{v: v, joined: bitset.New(documents), exact: bitset.New(documents), defines: bitset.New(documents), files: bitset.New(documents), any: bitset.New(documents)}
	for i := range names {
		if err := n.addSymbols(&names[i]); err != nil {
			return found, err
		}
	}
	n.addFiles(names)
	var best []segment.DocID
	if segments > 0 && !v.s.Restricted && len(names) == 1 {
		best = n.bestDefinitions(segments)
		found.AllDefine = n.defines.Count() == len(best)
	}
	for d := n.any.Next(0); d >= 0; d = n.any.Next(d + 1) {
		if v.Seg.FirstPlace(segment.DocID(d)) < 0 {
			continue
		}
		g := namedOther
		switch _, isBest := slices.BinarySearch(best, segment.DocID(d)); {
		case n.joined.Has(d):
			g = namedJoined
		case isBest || (v.s.Restricted || len(names) > 1) && n.exact.Has(d) && !IsAside(&v.Seg, segment.DocID(d)):
			g = namedDefines
		case IsAside(&v.Seg, segment.DocID(d)):
			g = namedAside
		}
		found.Groups[g] = append(found.Groups[g], segment.DocID(d))
	}
	found.Defining, found.All = n.exact, n.any
	return found, nil
}

// MaxDefining bounds the documents of namedDefines, which are all searched. The segments
// share it, but each has a minimum.
const MaxDefining, minDefining = 32, 2

// bestDefinitions returns the documents of namedDefines, sorted: of those that define the
// name of the only term in any letter case, the best by the kind of the symbol and what
// else is known about the file, so that a type comes before hundreds of fields and packages
// with its name. It is not for callers who may not see everything, because which documents
// share a segment depends on hidden ones.
func (n *nameSearcher) bestDefinitions(segments int) []segment.DocID {
	most := max(MaxDefining/segments, minDefining)
	var best []segment.DocID // by worth, if there are more
	if n.defines.Count() <= most {
		for i := n.defines.Next(0); i >= 0; i = n.defines.Next(i + 1) {
			if !n.joined.Has(i) {
				best = append(best, segment.DocID(i))
			}
		}
		return best
	}
	var allowed bitset.Set
	if len(n.v.s.Query.Predicates) > 0 {
		allowed = allowedByColumns(n.v.s, n.v.Seg) // documents that are not asked for must not use up the bound
	}
	documents := make([]segment.DocID, 0, n.defines.Count())
	for i := n.defines.Next(0); i >= 0; i = n.defines.Next(i + 1) {
		documents = append(documents, segment.DocID(i))
	}
	worth := make([]float64, len(documents)) // what the definitions add to the score, relative to ScoreDefinition
	kinds := n.v.Seg.Reader.Kinds()
	weights := make([]float64, len(kinds))
	for i, kind := range kinds {
		weights[i] = ranking.KindWeight(code.SymbolKind(kind))
	}
	for _, x := range n.found {
		w := weights[x.Kind]
		if !x.Exact {
			w *= ranking.ScoreDefinitionFold
		}
		if i, ok := slices.BinarySearch(documents, x.Doc); ok {
			worth[i] = max(worth[i], w)
		}
	}
	compare := func(a, b int) int {
		return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(a, b))
	}
	var ranked []int // indexes of documents
	for i, d := range documents {
		if n.joined.Has(int(d)) || !isAllowed(&n.v.Seg, d, allowed) {
			continue
		}
		if n.files.Has(int(d)) {
			worth[i] += ranking.ScoreFileName / float64(ranking.ScoreDefinition)
		}
		if IsAside(&n.v.Seg, d) {
			worth[i] += ranking.ScoreTest / float64(ranking.ScoreDefinition)
		}
		if len(ranked) == most {
			if compare(i, ranked[most-1]) > 0 {
				continue
			}
			ranked = ranked[:most-1]
		}
		at, _ := slices.BinarySearchFunc(ranked, i, compare)
		ranked = slices.Insert(ranked, at, i)
	}
	for _, i := range ranked {
		best = append(best, documents[i])
	}
	slices.Sort(best)
	return best
}

// isAllowed reports whether the caller may see one of the allowed places of a document; nil
// allows all.
func isAllowed(seg *corpus.Segment, d segment.DocID, allowed bitset.Set) bool {
	if seg.FirstPlace(d) < 0 {
		return false
	}
	i := allowed.Next(int(seg.Places.First[d]))
	return allowed == nil || i >= 0 && i < int(seg.Places.First[d+1])
}

// addFiles adds the documents of files that have one of the names. It reads the stems of
// all places once; a bit for each name, selected by its hash, excludes most of them.
func (n *nameSearcher) addFiles(names []Name) {
	places := n.v.Seg.Places
	stems, bits := make([]uint32, len(names)), uint64(0)
	for i := range names {
		stems[i] = segment.StemHash(names[i].Fold)
		bits |= 1 << (stems[i] % 64)
	}
	for i, h := range places.Stem {
		if bits>>(h%64)&1 == 0 || !n.v.Seg.IsVisible(i) {
			continue
		}
		for j, stem := range stems {
			if h == stem && identifier.NamesFile(names[j].Fold, string(places.Path(i))) {
				n.any.Add(int(places.Doc[i]))
				n.files.Add(int(places.Doc[i]))
			}
		}
	}
}

// addSymbols adds the documents that define a symbol of that name. For callers who may not
// see everything, it reads the names of these documents: the index may list a few documents
// of other names, and an answer must not depend on whether the index was used.
func (n *nameSearcher) addSymbols(x *Name) (err error) {
	if n.found = n.found[:0]; n.v.Seg.NoIndex {
		return n.scanSymbols(x)
	}
	if n.found, err = n.v.Seg.Reader.Definitions(&n.v.cursor, x.Exact, n.found); err != nil {
		return err
	}
	if !n.v.s.Restricted {
		for _, d := range n.found {
			n.addDefinition(x, int(d.Doc), d.Exact)
		}
		return nil
	}
	finder, looked := scan.NewLiterals([]string{x.Fold + "\n"}, true), bitset.New(n.v.Seg.Reader.Documents())
	for _, d := range n.found {
		if looked.Has(int(d.Doc)) || n.v.Seg.FirstPlace(d.Doc) < 0 {
			continue
		}
		looked.Add(int(d.Doc))
		if err := n.scanDocumentSymbols(x, finder, d.Doc); err != nil {
			return err
		}
	}
	return nil
}

// addDefinition adds a document that defines a symbol with a name, exactly or in another
// letter case.
func (n *nameSearcher) addDefinition(x *Name, d int, exact bool) {
	n.any.Add(d)
	n.defines.Add(d)
	if x.Joined {
		n.joined.Add(d)
	}
	if x.Joined || exact { // in any naming style
		n.exact.Add(d)
	}
}

// keepTrigrams removes the blocks that lack a trigram of a literal. It reads every list,
// even if few blocks are left: the result decides which blocks to read first, and reading
// the wrong ones costs more.
func (l *indexLookup) keepTrigrams(blocks *postings.Set, literal string) error {
	lists, found := l.listsOf(literal)
	if !found {
		*blocks = postings.Set{}
	}
	for _, ref := range lists {
		if blocks.Len() == 0 {
			break
		}
		list, err := l.readList(ref)
		if err == nil {
			err = blocks.IntersectList(&list)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
