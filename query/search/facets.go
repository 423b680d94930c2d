package search

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/match"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// FacetName is a property of files, or of symbols, by which an answer can be narrowed.
type FacetName string

// The facets, in the order of an answer.
const (
	FacetRepository FacetName = "repository"
	FacetLanguage   FacetName = "language"
	FacetDirectory  FacetName = "directory" // below the directory that is common to all files
	FacetExtension  FacetName = "extension"
	FacetTrait      FacetName = "trait"  // the values of is:
	FacetKind       FacetName = "kind"   // of symbols; only if the answer shows symbols
	FacetBranch     FacetName = "branch" // only where the query names revisions
)

// Facet counts the matches of an answer by the values of one property.
type Facet struct {
	Name FacetName
	// Complete means that the counts cover every match; otherwise they are lower bounds.
	Complete bool
	// More means that there are further values, with no more matches than these.
	More   bool
	Values []FacetValue
}

// FacetValue is one value, the filter that selects it, and its counts.
type FacetValue struct {
	Value, Filter  string
	Matches, Files int
}

// Bounds of facets.
const (
	// MaxFacetValues bounds the values of one facet in an answer, unless the request sets
	// another number, at most MaxGroups.
	MaxFacetValues = 30
	MaxGroups      = 1000
	// maxFacetKeys bounds the values of one facet that are counted. A value longer than
	// maxFacetKeyBytes is left out.
	maxFacetKeys     = 4096
	maxFacetKeyBytes = 256
	// maxFacetDepth bounds the depth to which directories are distinguished.
	maxFacetDepth = 8
)

// facetCount holds the counts of one value.
type facetCount struct{ matches, files int }

// facetCounter counts the values of one facet, at most maxFacetKeys.
type facetCounter[K comparable] struct {
	counts  map[K]facetCount
	dropped bool // some value was left out
}

func (c *facetCounter[K]) add(key K, matches, files int) {
	old, known := c.counts[key]
	if !known && len(c.counts) >= maxFacetKeys {
		c.dropped = true
		return
	}
	if c.counts == nil {
		c.counts = make(map[K]facetCount)
	}
	c.counts[key] = facetCount{old.matches + matches, old.files + files}
}

// facets counts the files of a result by their properties as the files are taken. Its
// memory is bounded for any paths.
type facets struct {
	run          *searchRun
	repositories facetCounter[uint32]
	languages    facetCounter[string]
	directories  facetCounter[string]
	extensions   facetCounter[string]
	traits       facetCounter[syntax.Trait]
	kinds        facetCounter[string]
	branches     facetCounter[code.Ref]
	depth        int // depth to which directories are distinguished
	tests        [len(facetTraits)]func(seg corpus.Segment, place int) bool
}

// facetTraits are the traits that are counted, in display order.
var facetTraits = [4]syntax.Trait{syntax.Test, syntax.Generated, syntax.Vendored, syntax.Docs}

func newFacets(n *searchRun) *facets {
	return &facets{run: n, depth: maxFacetDepth, tests: traitTests()}
}

// traitTests returns the conditions of facetTraits.
func traitTests() (tests [len(facetTraits)]func(seg corpus.Segment, place int) bool) {
	for i, t := range facetTraits {
		tests[i] = match.TraitOf(t)
	}
	return tests
}

// addHit counts a file of the answer.
func (f *facets) addHit(h *hit) {
	file := f.run.fileOfHit(h, f.tests[:])
	f.repositories.add(f.run.repoOf(h), h.Count, 1)
	if name := string(file.Language); name != "" {
		f.languages.add(name, h.Count, 1)
	}
	f.addDirectory(file.Path, h.Count)
	f.addExtension(file.Path, h.Count)
	for i, has := range file.Traits {
		if has {
			f.traits.add(facetTraits[i], h.Count, 1)
		}
	}
	if f.run.plan.scope.Query.Revisions {
		f.branches.add(file.Ref, h.Count, 1)
		for _, ref := range file.OtherRefs {
			f.branches.add(ref, h.Count, 1)
		}
	}
}

// fileOfHit returns the file of a hit. Its traits are those for which tests hold.
func (n *searchRun) fileOfHit(h *hit, tests []func(seg corpus.Segment, place int) bool) ShardHitFile {
	if n.plan.remote != nil {
		return *n.plan.remote.hits[h.Place].file
	}
	seg := n.plan.segments[h.segment]
	f := ShardHitFile{Path: seg.Places.Path(h.Place), Ref: n.plan.scope.RefOf(seg, h.Place), Language: seg.Reader.Language(h.Doc)}
	for i, has := range tests {
		f.Traits[i] = has(seg, h.Place)
	}
	for _, place := range h.OtherPlaces {
		f.OtherRefs = append(f.OtherRefs, n.plan.scope.RefOf(seg, place))
	}
	return f
}

// addFile counts the kinds of the symbols that the answer shows in a file.
func (f *facets) addFile(file *FileMatch) {
	seen := map[string]int{}
	for i := range file.Chunks {
		for _, s := range file.Chunks[i].Symbols {
			if s != nil {
				seen[string(s.Kind)]++
			}
		}
	}
	for kind, n := range seen {
		f.kinds.add(kind, n, 1)
	}
}

// addDirectory counts the directory of a file. If there are too many directories, it
// reduces the depth to which it distinguishes them.
func (f *facets) addDirectory(path []byte, matches int) {
	f.directories.add(cutDirectory(path, f.depth), matches, 1)
	for f.directories.dropped && f.depth > 1 {
		f.depth /= 2
		old := f.directories.counts
		f.directories = facetCounter[string]{}
		for directory, n := range old {
			f.directories.add(cutDirectory([]byte(directory), f.depth), n.matches, n.files)
		}
		f.directories.add(cutDirectory(path, f.depth), matches, 1)
	}
}

// cutDirectory returns the first elements of a path's directory, each with a trailing
// slash. It returns an empty string for a file in the root.
func cutDirectory(path []byte, elements int) string {
	end := 0
	for range elements {
		i := bytes.IndexByte(path[end:], '/')
		if i < 0 || end+i+1 > maxFacetKeyBytes {
			break
		}
		end += i + 1
	}
	return string(path[:end])
}

func (f *facets) addExtension(path []byte, matches int) {
	const longest = 16
	name := path[bytes.LastIndexByte(path, '/')+1:]
	i := bytes.LastIndexByte(name, '.')
	if i < 0 || len(name)-i-1 > longest || i+1 == len(name) {
		return
	}
	f.extensions.add(strings.ToLower(string(name[i+1:])), matches, 1)
}

// list returns the facets. If complete is false, there may be more matches than were
// counted.
func (f *facets) list(complete, kindsComplete bool) []Facet {
	repos, most := f.run.plan.scope.Repos, min(cmp.Or(f.run.plan.request.FacetValues, MaxFacetValues), MaxGroups)
	all := []Facet{
		listFacet(FacetRepository, complete, &f.repositories, most, func(r uint32) (string, string) {
			return repos[r].Name, FilterRepository(repos[r].Name)
		}),
		listFacet(FacetLanguage, complete, &f.languages, most, func(l string) (string, string) { return l, quoteFilter("lang:", l) }),
		listFacet(FacetDirectory, complete, f.commonDirectories(), most, func(d string) (string, string) {
			return strings.ToValidUTF8(d, "\uFFFD"), quoteFilter("file:", "^"+regexp.QuoteMeta(d))
		}),
		listFacet(FacetExtension, complete, &f.extensions, most, func(e string) (string, string) {
			return strings.ToValidUTF8(e, "\uFFFD"), quoteFilter("file:", `\.`+regexp.QuoteMeta(e)+"$")
		}),
		listFacet(FacetTrait, complete, &f.traits, most, func(t syntax.Trait) (string, string) { return t.String(), "is:" + t.String() }),
		listFacet(FacetKind, complete && kindsComplete, &f.kinds, most, func(k string) (string, string) { return k, quoteFilter("kind:", k) }),
		listFacet(FacetBranch, complete, &f.branches, most, func(r code.Ref) (string, string) {
			return string(r), quoteFilter("rev:", string(r))
		}),
	}
	return slices.DeleteFunc(all, func(f Facet) bool { return len(f.Values) == 0 })
}

// commonDirectories counts the directories below the one that is common to all files.
func (f *facets) commonDirectories() *facetCounter[string] {
	common, first := "", true
	for directory := range f.directories.counts {
		if first {
			common, first = directory, false
		}
		for !strings.HasPrefix(directory, common) {
			common = common[:strings.LastIndexByte(common[:len(common)-1], '/')+1]
		}
	}
	below := &facetCounter[string]{dropped: f.directories.dropped}
	for directory, n := range f.directories.counts {
		if rest := directory[len(common):]; rest != "" {
			below.add(common+rest[:strings.IndexByte(rest, '/')+1], n.matches, n.files)
		}
	}
	return below
}

// listFacet returns the values with the most matches, up to a number. It omits values that are not valid
// UTF-8, because a query cannot contain them.
func listFacet[K comparable](name FacetName, complete bool, c *facetCounter[K], most int, describe func(K) (value, filter string)) Facet {
	out := Facet{Name: name, Complete: complete, More: c.dropped}
	for key, n := range c.counts {
		value, filter := describe(key)
		if filter == "" {
			out.More = true
			continue
		}
		out.Values = append(out.Values, FacetValue{value, filter, n.matches, n.files})
	}
	slices.SortFunc(out.Values, func(a, b FacetValue) int {
		return cmp.Or(cmp.Compare(b.Matches, a.Matches), cmp.Compare(a.Value, b.Value))
	})
	if len(out.Values) > most {
		out.More, out.Values = true, slices.Clone(out.Values[:most])
	}
	return out
}

// quoteFilter returns a filter with its value, quoted where necessary. It returns an
// empty string if a query cannot express the value.
func quoteFilter(key, value string) string {
	if strings.ToValidUTF8(value, "") != value || strings.ContainsAny(value, "\x00\n\r") {
		return ""
	}
	if strings.ContainsAny(value, " \t\"()'") || !isPrintable(value) {
		value = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
	}
	return key + value
}

// isPrintable reports whether a text has no characters that a query may treat as blanks.
func isPrintable(s string) bool {
	for _, r := range s {
		if r < 0x21 || r == 0x7f || r >= 0x80 && (r <= 0xa0 || r >= 0x2000 && r <= 0x206f || r == 0x3000 || r == 0xfeff) {
			return false
		}
	}
	return true
}

// FilterRepository returns the filter that selects the repository with a name.
func FilterRepository(name string) string {
	return quoteFilter("repo:", "^"+regexp.QuoteMeta(name)+"$")
}
