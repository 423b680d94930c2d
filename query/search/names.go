package search

import (
	"bytes"
	"cmp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/search/internal/bitset"
	"github.com/quarrysearch/quarry/query/search/internal/identifier"
	"github.com/quarrysearch/quarry/query/search/internal/scan"
)

// termName is a term read as the name of a symbol or file.
type termName struct {
	exact string // as written
	fold  string // folded
	// joined means that the words of the name are all terms of the query.
	joined bool
}

const (
	// maxNames bounds the names that are looked up. maxNameBytes bounds their length, so
	// that a name and its enclosing line feeds lie in one block.
	maxNames = 8
	// maxJoinedNames bounds the names that all terms together may form.
	maxJoinedNames = 6
	// maxNamingTerms is the maximum number of terms of a query whose terms are looked up
	// as names; more terms are a piece of text.
	maxNamingTerms = 3
	maxNameBytes   = postings.OverhangBytes - 4
)

// namesOf returns the names that the terms of a query may be.
func namesOf(c *compiledQuery) []termName {
	var names []termName
	if c.joined != "" {
		for _, name := range joinedNames(c) {
			names = appendName(names, name)
		}
		for i := range names {
			names[i].joined = true
		}
	}
	if len(c.literals) > maxNamingTerms {
		return names
	}
	for _, a := range c.atoms {
		switch {
		case a.existenceOnly || a.pattern == nil:
		case a.literal != "":
			names = appendName(names, a.literal)
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
func joinedNames(c *compiledQuery) []string {
	names := []string{c.joined, strings.Join(c.literals, "_")}
	for i := 1; i < len(c.literals) && len(c.literals) > 2 && len(names) < maxJoinedNames; i++ {
		names = append(names, strings.Join(c.literals[:i], "")+"_"+strings.Join(c.literals[i:], ""))
	}
	return names
}

func appendName(names []termName, written string) []termName {
	exact := identifier.Trim(written)
	n := termName{exact: exact, fold: string(postings.AppendFold(nil, []byte(exact)))}
	if exact == "" || len(n.fold) > maxNameBytes || len(names) == maxNames || slices.Contains(names, n) {
		return names
	}
	return append(names, n)
}

// writtenLiteral returns the characters of a regular expression, in their letter case, if
// it is a literal with or without anchors.
func writtenLiteral(expression string) string {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return ""
	}
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	literal := ""
	for _, p := range parts {
		switch p.Op {
		case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary:
		case syntax.OpLiteral:
			literal += string(p.Rune)
		default:
			return ""
		}
	}
	return literal
}

// nameSearcher finds the documents of one segment that have the name of a term: they
// define such a symbol, or their file has this name.
type nameSearcher struct {
	v      *candidateFinder
	most   int           // blocks of names that are scanned for a name of one term
	within *postings.Set // the only blocks with symbols that are searched; nil for all
	joined bitset.Set    // documents that define a joined name
	// allowed returns the places that the predicates allow, see allowedByColumns.
	allowed func() bitset.Set
	exact   bitset.Set // documents that define the name in its letter case
	defines bitset.Set // documents that define it in any letter case
	files   bitset.Set // files with the name
	any     bitset.Set // all documents with the name
}

// findNamed returns the documents of the current segment that have one of the names, by
// tier from tierJoined on. It also returns those that define a symbol and all of them as
// sets, or nil if there are none. Unless within is nil, it finds only symbols in these
// blocks, and does not search the index for others. segments is the number of segments that
// share the bounds on the documents of tierDefines; 0 if the tiers do not matter.
func (v *candidateFinder) findNamed(names []termName, within *postings.Set, segments int) (tiers [namedTiers][]segment.DocID, defines, any bitset.Set, err error) {
	documents := v.seg.Reader.Documents()
	n := &nameSearcher{v: v, most: maxNameBlocks, within: within, allowed: sync.OnceValue(v.allowedByColumns), joined: bitset.New(documents), exact: bitset.New(documents), defines: bitset.New(documents), files: bitset.New(documents), any: bitset.New(documents)}
	if len(names) == 1 {
		n.most = maxOneNameBlocks
	}
	for i := range names {
		if err := n.addSymbols(&names[i]); err != nil {
			return tiers, nil, nil, err
		}
	}
	n.addFiles(names)
	best, err := n.bestDefinitions(names, segments)
	if err != nil {
		return tiers, nil, nil, err
	}
	for d := n.any.Next(0); d >= 0; d = n.any.Next(d + 1) {
		if v.seg.firstPlace(segment.DocID(d)) < 0 {
			continue
		}
		t := tierNamed
		switch _, isBest := slices.BinarySearch(best, segment.DocID(d)); {
		case n.joined.Has(d):
			t = tierJoined
		case isBest || (v.s.restricted || len(names) > 1) && n.exact.Has(d) && !v.isAside(segment.DocID(d)):
			t = tierDefines
		case v.isAside(segment.DocID(d)):
			t = tierAside
		}
		tiers[t-tierJoined] = append(tiers[t-tierJoined], segment.DocID(d))
	}
	return tiers, n.exact, n.any, nil
}

// bestDefinitions returns the documents of tierDefines, sorted: of those that define the
// name of a term in any letter case, the best by the kind of the symbol and what else is
// known about the file, so that a type comes before hundreds of fields and packages with
// its name. For callers who may not see everything there are none, because which documents
// share a segment depends on hidden ones, and for several terms, which rank by what stands
// together.
func (n *nameSearcher) bestDefinitions(names []termName, segments int) ([]segment.DocID, error) {
	if segments == 0 || n.v.s.restricted || len(names) > 1 {
		return nil, nil
	}
	var all []segment.DocID // those whose file has the name first, then those in the letter case of the term
	for _, inFile := range []bool{true, false} {
		for _, exact := range []bool{true, false} {
			for d := n.defines.Next(0); d >= 0; d = n.defines.Next(d + 1) {
				if n.files.Has(d) == inFile && n.exact.Has(d) == exact && !n.joined.Has(d) && n.v.seg.firstPlace(segment.DocID(d)) >= 0 {
					all = append(all, segment.DocID(d))
				}
			}
		}
	}
	if most := max(maxDefining/segments, minDefining); len(all) > most {
		all = all[:min(len(all), max(maxWeighed/segments, minWeighed))]
		worth := make(map[segment.DocID]float64, len(all))
		outline := outlines.Get().(*segment.Outline)
		defer releaseOutline(outline)
		full := 0
		for i, d := range all {
			if full >= most && !n.files.Has(int(d)) {
				all = all[:i] // the others are worth at most as much
				break
			}
			w, err := n.definitionWorth(names[0].exact, d, outline)
			if err != nil {
				return nil, err
			}
			if worth[d] = w; w >= 1 {
				full++
			}
		}
		slices.SortFunc(all, func(a, b segment.DocID) int { return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(a, b)) })
		all = all[:min(len(all), most)]
	}
	slices.Sort(all)
	return all, nil
}

// definitionWorth estimates how much the definitions of a name in a document add to its
// score, relative to scoreDefinition.
func (n *nameSearcher) definitionWorth(name string, d segment.DocID, outline *segment.Outline) (float64, error) {
	r := n.v.seg.Reader
	if err := r.Outline(&n.v.cursor, d, outline); err != nil {
		return 0, err
	}
	worth := 0.0
	for i := range outline.Len() {
		start, end := outline.Range(i)
		if int(end-start) != len(name) || weightOf(outline.Kind(i)) <= worth {
			continue
		}
		s, err := outline.Symbol(i, n.v.text)
		if err != nil {
			return 0, err
		}
		switch {
		case s.Name == name:
			worth = weightOf(s.Kind)
		case strings.EqualFold(s.Name, name):
			worth = max(worth, scoreDefinitionFold*weightOf(s.Kind))
		}
	}
	if n.files.Has(int(d)) {
		worth += scoreFileName / float64(scoreDefinition)
	}
	if n.v.isAside(d) {
		worth += scoreTest / float64(scoreDefinition)
	}
	return worth, nil
}

// addFiles adds the documents of files that have one of the names. It reads the stems of
// all places once; a bit for each name, selected by its hash, excludes most of them.
func (n *nameSearcher) addFiles(names []termName) {
	places := n.v.seg.Places
	stems, bits := make([]uint32, len(names)), uint64(0)
	for i := range names {
		stems[i] = segment.StemHash(names[i].fold)
		bits |= 1 << (stems[i] % 64)
	}
	for i, h := range places.Stem {
		if bits>>(h%64)&1 == 0 || !n.v.seg.isVisible(i) {
			continue
		}
		for j, stem := range stems {
			if h == stem && isNameOf(names[j].fold, string(places.Path(i))) {
				n.any.Add(int(places.Doc[i]))
				n.files.Add(int(places.Doc[i]))
			}
		}
	}
}

// isNameOf reports whether a path ends in a file called fold, with or without the
// extension.
func isNameOf(fold, path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	return strings.EqualFold(base, fold) || strings.EqualFold(segment.Stem(base), fold)
}

// addSymbols adds the documents that define a symbol of that name. In the symbol text,
// each name is enclosed in line feeds.
func (n *nameSearcher) addSymbols(x *termName) error {
	r := n.v.seg.Reader
	start, end := r.TextEnd(), r.SpaceEnd()
	if start == end {
		return nil
	}
	finder := scan.NewLiterals([]string{x.fold + "\n"}, true)
	if n.v.seg.NoIndex {
		return n.scanSymbols(x, finder)
	}
	lists, most := maxTailLists, n.most
	if x.joined {
		lists, most = maxJoinedLists, maxJoinedBlocks
	}
	var blocks postings.Set
	if n.within != nil {
		blocks = *n.within
	} else {
		var err error
		if blocks, err = n.v.lookup.tailBlocks("\n"+x.fold+"\n", start/postings.BlockBytes, lists); err != nil {
			return err
		}
	}
	var allowed bitset.Set
	narrows := n.v.s.restricted
	if blocks.Len() > most && len(n.v.s.c.predicates) > 0 {
		allowed, narrows = n.allowed(), true
	}
	for b, looked := blocks.Next(0), 0; b >= 0 && looked < most; b = blocks.Next(b + 1) {
		if narrows && !n.v.showsBlock(true, b, allowed) {
			continue // documents that are hidden or not asked for must not use up the bound
		}
		looked++
		if err := n.addBlockSymbols(x, finder, b, start, end); err != nil {
			return err
		}
	}
	return nil
}

// addBlockSymbols searches a block of symbol text. The first byte belongs to the name
// that began in the previous block.
func (n *nameSearcher) addBlockSymbols(x *termName, finder *scan.Literals, b, start, end int) error {
	from := max(b*postings.BlockBytes, start)
	to := min((b+1)*postings.BlockBytes+len(x.fold)*maxFoldGrowth+2, end)
	text, err := n.v.text.Bytes(from, to)
	if err != nil {
		return err
	}
	finder.Reset(text)
	for at := 0; ; {
		lo, hi := finder.Next(at)
		if lo < 0 {
			return nil
		}
		if at = hi; lo > 0 && text[lo-1] == '\n' {
			n.addDefinition(x, int(n.v.seg.Reader.DocumentOfSymbol(from+lo)), text[lo:hi-1])
		}
	}
}

// addDefinition adds a document that defines a symbol with a name, as it is written
// there.
func (n *nameSearcher) addDefinition(x *termName, d int, written []byte) {
	n.any.Add(d)
	n.defines.Add(d)
	if x.joined {
		n.joined.Add(d)
		n.exact.Add(d) // in any naming style
	} else if bytes.Equal(written, []byte(x.exact)) {
		n.exact.Add(d)
	}
}

// maxUnlisted is the number of blocks that cost less to scan than a list costs to read.
const maxUnlisted = 4

// maxTailLists bounds the lists read for a name in one segment, shortest first: reading a
// list costs as much as scanning some blocks of names. maxNameBlocks bounds these blocks;
// names in other blocks are not ranked first. A name of several terms contains common
// words, which many blocks contain. It may cost more, because such queries take longer
// anyway and are likely to look for the definition.
//
// A query of one term may cost more, too: without the definition, nothing else in its
// answer helps.
//
// maxDefining bounds the documents of tierDefines, which are all searched, and maxWeighed
// those among which they are chosen. The segments share them, but each has a minimum.
const (
	maxTailLists     = 3
	maxNameBlocks    = 32
	maxOneNameBlocks = 256
	maxDefining      = 32
	minDefining      = 2
	maxWeighed       = 512
	minWeighed       = 16
	maxJoinedLists   = 8
	maxJoinedBlocks  = 32
)

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

// tailBlocks returns the blocks from first on that may contain a literal, and reads at
// most most of its lists.
func (l *indexLookup) tailBlocks(literal string, first, most int) (blocks postings.Set, err error) {
	if may, err := l.r.MayHave(l.gramsOf(literal)); err != nil || !may {
		return postings.Set{}, err
	}
	lists, _ := l.listsOf(literal)
	for i, ref := range lists[:min(len(lists), most)] {
		if i > 0 && blocks.Len() <= maxUnlisted {
			break
		}
		list, err := l.readList(ref)
		if err != nil {
			return postings.Set{}, err
		}
		if i == 0 {
			blocks, err = postings.Tail(&list, first, l.r.Blocks())
		} else {
			err = blocks.IntersectList(&list)
		}
		if err != nil {
			return postings.Set{}, err
		}
	}
	return blocks, nil
}
