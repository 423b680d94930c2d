package segment

import (
	"cmp"
	"crypto/sha1"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/schemas/code"
)

// definingDocuments returns documents with symbols of n names in several letter cases and
// kinds, some names in every document.
func definingDocuments(rng *rand.Rand, documents, n int) []Document {
	docs := make([]Document, documents)
	for i := range docs {
		var d Document
		for k := range rng.IntN(60) {
			name := fmt.Sprintf("name%d", rng.IntN(n))
			if k == 0 {
				name = "Straße"
			}
			if rng.IntN(3) == 0 {
				name = strings.ToUpper(name)
			}
			kind := code.SymbolKind([]string{"class", "field", "function"}[rng.IntN(3)])
			d.Symbols = append(d.Symbols, code.Symbol{Name: name, Kind: kind, Offset: uint32(len(d.Text)), Line: uint32(k + 1)})
			d.Text = append(append(d.Text, name...), '\n')
		}
		d.Text = fmt.Appendf(d.Text, "doc%d\n", i)
		d.Key = code.DocumentKey{Blob: sha1.Sum(d.Text), Language: "C"}
		docs[i] = d
	}
	return docs
}

// TestDefinitions looks up every name of a segment, in several letter cases, and compares
// the answer with the symbols of the documents.
func TestDefinitions(t *testing.T) {
	for seed, size := range [][2]int{{1, 3}, {40, 5}, {300, 900}, {3000, 2}} {
		docs := definingDocuments(rand.New(rand.NewPCG(uint64(seed), 2)), size[0], size[1])
		path, _ := build(t, Options{}, docs)
		f, err := OpenFile(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &Cursor{}
		type written struct {
			name string
			Definition
		}
		names, definitions := map[string]bool{"absent": true}, map[string][]written{} // by folded name
		for i := range docs {
			for _, s := range docs[i].Symbols {
				names[s.Name] = true
				fold := string(postings.AppendFold(nil, []byte(s.Name)))
				definitions[fold] = append(definitions[fold], written{s.Name, Definition{Doc: DocID(i), Kind: uint16(slices.Index(f.Kinds(), string(s.Kind)))}})
			}
		}
		for name := range names {
			var want []Definition
			for _, d := range definitions[string(postings.AppendFold(nil, []byte(name)))] {
				d.Exact = d.name == name
				want = append(want, d.Definition)
			}
			got, err := f.Definitions(c, name, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range [][]Definition{got, want} {
				slices.SortFunc(list, func(a, b Definition) int {
					return cmp.Or(cmp.Compare(a.Doc, b.Doc), cmp.Compare(a.Kind, b.Kind), strings.Compare(fmt.Sprint(a.Exact), fmt.Sprint(b.Exact)))
				})
			}
			if !slices.Equal(got, slices.Compact(want)) {
				t.Errorf("%d documents with %d names: %q is defined at %v, want %v", size[0], size[1], name, got, want)
			}
		}
		if err := errors.Join(c.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVersionWithoutDefinitions reads a header of the version before the definitions.
func TestVersionWithoutDefinitions(t *testing.T) {
	h := &header{version: versionWithoutDefinitions, documents: 1, symbols: 2, symbolBytes: 7, languages: []string{"C"}, frameLines: []uint32{0, 1}, pageStart: []uint32{0}}
	got, err := decodeHeader(h.encode())
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{head: got}
	found, err := r.Definitions(&Cursor{}, "name", nil)
	if err != nil || len(found) > 0 || r.HasDefinitions() {
		t.Errorf("a segment without definitions has %v (%v), and says that it has them: %t", found, err, r.HasDefinitions())
	}
	if got.version = versionWithoutCapitals; !r.HasDefinitions() || r.HasCapitalPairs() {
		t.Error("a segment of version 4 says that it has no definitions, or that it has capital pairs")
	}
	for got.version = versionWithoutCapitals + 1; got.version <= formatVersion; got.version++ {
		if !r.HasDefinitions() || !r.HasCapitalPairs() {
			t.Errorf("a segment of version %d says that it has no definitions or no capital pairs", got.version)
		}
	}
}

// FuzzDefinitions decodes any page of definitions. What it finds is in the segment.
func FuzzDefinitions(f *testing.F) {
	f.Add([]byte{0, 3, 7, 7, 2, 1, 1}, uint8(7))
	f.Add([]byte{4, 4, 2, 1}, uint8(0))
	f.Add([]byte{8, 0, 5, 200, 1}, uint8(1))
	f.Fuzz(func(t *testing.T, page []byte, spelling uint8) {
		r := &Reader{head: &header{version: formatVersion, documents: 5, kinds: []string{"a", "b"}}}
		d := decoder{b: page}
		var found []Definition
		for len(d.b) > 0 && !d.failed {
			found = r.readEntry(&d, spelling, found)
		}
		for _, x := range found {
			if int(x.Doc) >= r.head.documents || int(x.Kind) >= len(r.head.kinds) {
				t.Errorf("%v is not in the segment", x)
			}
		}
	})
}
