package segment

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/schemas/code"
)

// randomDocuments returns documents of many sizes: empty, ASCII and non-ASCII, some with
// symbols.
func randomDocuments(rng *rand.Rand, n int) []Document {
	words := []string{"static", "int", "Device", "naïve", "世界", "x", "return", "{", "}\n", "\r\n", "\t", "kmalloc(", "K", "\xff"}
	docs := make([]Document, n)
	for i := range docs {
		var text []byte
		for range rng.IntN(1 << rng.IntN(15)) {
			text = append(append(text, words[rng.IntN(len(words))]...), ' ')
		}
		text = fmt.Appendf(text, "doc%d\n", i)
		d := Document{Text: text, Flags: code.Flags(rng.IntN(16))}
		d.Key = code.DocumentKey{Blob: sha1.Sum(text), Language: code.Language([]string{"C", "Go", ""}[rng.IntN(3)])}
		d.Symbols = symbolsIn(rng, text)
		docs[i] = d
	}
	return docs
}

func symbolsIn(rng *rand.Rand, text []byte) []code.Symbol {
	var out []code.Symbol
	for at := 0; rng.IntN(30) > 0; {
		i := bytes.Index(text[at:], []byte("Device"))
		if i < 0 {
			break
		}
		at += i
		s := code.Symbol{Name: "Device", Kind: "struct", Offset: uint32(at), Line: uint32(bytes.Count(text[:at], lineFeed)) + 1}
		if rng.IntN(2) == 0 {
			s.Parent, s.ParentKind, s.EndLine = "bus", "namespace", s.Line+uint32(rng.IntN(9))
		}
		out = append(out, s)
		at += len(s.Name)
	}
	return out
}

func build(t testing.TB, o Options, docs []Document) (string, Meta) {
	t.Helper()
	b := NewBuilder(o)
	for _, d := range docs {
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "segment")
	meta, err := b.Finish(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, meta
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		docs := randomDocuments(rng, 1+rng.IntN(200))
		path, meta := build(t, Options{Seed: []byte{byte(seed)}}, docs)
		f, err := OpenFile(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Meta(); got != meta {
			t.Fatalf("meta %+v, want %+v", got, meta)
		}
		checkDocuments(t, f.Reader, docs)
		checkPostings(t, f.Reader, docs)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func checkDocuments(t *testing.T, r *Reader, docs []Document) {
	t.Helper()
	if r.Documents() != len(docs) {
		t.Fatalf("%d documents, want %d", r.Documents(), len(docs))
	}
	keys, err := r.Keys()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cursor{}
	defer func() { _ = c.Close() }()
	for i, want := range docs {
		d := DocID(i)
		text, err := r.Text(d, nil)
		if err != nil || !bytes.Equal(text, want.Text) {
			t.Fatalf("document %d: text differs: %v", i, err)
		}
		symbols, err := r.Symbols(d)
		if err != nil || !slices.Equal(symbols, want.Symbols) {
			t.Fatalf("document %d: symbols %v, want %v: %v", i, symbols, want.Symbols, err)
		}
		key, err := r.Key(c, d)
		if err != nil || key != want.Key || keys[i] != want.Key || r.Flags(d) != want.Flags {
			t.Fatalf("document %d: key %v, want %v: %v", i, key, want.Key, err)
		}
		lo, hi := r.TextRange(d)
		if lo < hi && (r.DocumentAt(lo) != d || r.DocumentAt(hi-1) != d) {
			t.Fatalf("document %d is not at its offsets", i)
		}
		at := lo + (hi-lo)*2/3
		lines, err := NewText(r, c).Lines(d, at)
		if err != nil || lines != bytes.Count(want.Text[:at-lo], lineFeed) {
			t.Fatalf("document %d: %d lines before %d: %v", i, lines, at-lo, err)
		}
	}
}

// checkPostings looks up the trigrams of pieces of the text and of the symbols.
func checkPostings(t *testing.T, r *Reader, docs []Document) {
	t.Helper()
	space := make([]byte, 0, r.SpaceEnd())
	for _, d := range docs {
		space = append(space, d.Text...)
	}
	for i, d := range docs {
		if i == 0 && r.Meta().Symbols > 0 {
			space = append(space, '\n')
		}
		for _, symbol := range d.Symbols {
			space = append(append(space, symbol.Name...), '\n')
		}
	}
	checkRuns(t, r, space)
	if len(space) != r.SpaceEnd() {
		t.Fatalf("text space of %d bytes, want %d", r.SpaceEnd(), len(space))
	}
	c := &Cursor{}
	defer func() { _ = c.Close() }()
	for at := 0; at+3 <= len(space); at += 1 + len(space)/500 {
		piece := space[at : at+3]
		if bytes.IndexFunc(piece, func(r rune) bool { return r >= 0x80 }) >= 0 {
			continue
		}
		tri := postings.AppendTrigrams(nil, postings.AppendFold(nil, piece))[0]
		l, err := r.List(c, r.FindList(tri))
		if err != nil {
			t.Fatalf("list of %v: %v", tri, err)
		}
		blocks, _ := l.AppendBlocks(nil)
		if _, found := slices.BinarySearch(blocks, uint32(at/postings.BlockBytes)); !found {
			t.Fatalf("block %d is missing in the list of %v", at/postings.BlockBytes, tri)
		}
	}
	if r.FindList(postings.MakeTrigram('q', 'q', 'q')).Bytes() != 0 {
		t.Fatal("a list of a trigram that does not occur")
	}
}

// checkRuns checks that each block with a run is found by it.
func checkRuns(t *testing.T, r *Reader, space []byte) {
	t.Helper()
	var word [256]bool
	for c := range word {
		word[c] = c == '_' || c >= 'a' && c <= 'z'
	}
	var c Cursor
	defer func() { _ = c.Close() }()
	for _, n := range []int{24, 31, 64, 90} {
		q, ok := postings.FindRun(&word, n)
		if !ok {
			t.Fatalf("no class for a word of %d", n)
		}
		blocks, err := r.Runs(&c, q)
		if err != nil {
			t.Fatal(err)
		}
		for at := postings.NextRun(space, 0, n, &word); at >= 0; at = postings.NextRun(space, at+1, n, &word) {
			if b := at / postings.BlockBytes; blocks.Next(b) != b {
				t.Fatalf("a run of %d bytes starts in block %d, which is not found", n, b)
			}
		}
	}
}

// TestDeterministic checks invariant 1, including for a reused builder.
func TestDeterministic(t *testing.T) {
	docs := randomDocuments(rand.New(rand.NewPCG(9, 9)), 50)
	path, meta := build(t, Options{Seed: []byte("a")}, docs)
	b := NewBuilder(Options{Seed: []byte("x")})
	for _, d := range randomDocuments(rand.New(rand.NewPCG(8, 8)), 80) {
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Finish(filepath.Join(t.TempDir(), "x")); err != nil {
		t.Fatal(err)
	}
	b.Reset(Options{Seed: []byte("a")})
	for _, d := range docs {
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	again := filepath.Join(t.TempDir(), "again")
	meta2, err := b.Finish(again)
	if err != nil || meta2 != meta {
		t.Fatalf("meta %+v, want %+v: %v", meta2, meta, err)
	}
	one, _ := os.ReadFile(path)
	two, _ := os.ReadFile(again)
	if !bytes.Equal(one, two) {
		t.Fatal("equal documents gave different files")
	}
	if _, other := build(t, Options{Seed: []byte("b")}, docs); other.ID == meta.ID {
		t.Fatal("different seeds gave one ID")
	}
}

func TestBounds(t *testing.T) {
	b := NewBuilder(Options{MaxTextBytes: 1000})
	doc := func(n int) Document {
		text := bytes.Repeat([]byte{'x'}, n)
		return Document{Key: code.DocumentKey{Blob: sha1.Sum(text)}, Text: text}
	}
	if err := b.Add(doc(900)); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(doc(101)); err != ErrFull {
		t.Fatalf("got %v, want ErrFull", err)
	}
	if err := b.Add(doc(900)); err == nil || err == ErrFull {
		t.Fatalf("equal key: got %v", err)
	}
	if err := b.Add(doc(1001)); err == nil || err == ErrFull {
		t.Fatalf("too large: got %v", err)
	}
	bad := doc(50)
	bad.Symbols = []code.Symbol{{Name: "yy", Offset: 3, Line: 1}}
	if err := b.Add(bad); err == nil || !strings.Contains(err.Error(), "yy") {
		t.Fatalf("symbol that is not there: got %v", err)
	}
}

func TestIngestedSegmentReadsAlike(t *testing.T) {
	docs := randomDocuments(rand.New(rand.NewPCG(4, 2)), 60)
	path, meta := build(t, Options{}, docs)
	dir := t.TempDir()
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: TableFormat, FS: vfs.Default})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Ingest(t.Context(), []string{path}); err != nil {
		t.Fatal(err)
	}
	cache := NewCache(1 << 20)
	r, err := Open(db, meta.ID, cache)
	if err != nil {
		t.Fatal(err)
	}
	checkDocuments(t, r, docs)
	if r, err = Open(walkable{db}, meta.ID, cache); err != nil {
		t.Fatal(err)
	}
	checkDocuments(t, r, docs)
	checkPostings(t, r, docs)
	if s := cache.Stats(); s.Hits == 0 || s.Bytes > 1<<20 || s.Held != 0 {
		t.Fatalf("cache: %+v", s)
	}
}

// TestSymbolGroupsAreCached checks that the symbols of a document are decompressed once, and
// that a cached group is as good as the one of the segment.
func TestSymbolGroupsAreCached(t *testing.T) {
	docs := randomDocuments(rand.New(rand.NewPCG(4, 3)), 800)
	path, meta := build(t, Options{}, docs)
	db, err := pebble.Open(t.TempDir(), &pebble.Options{FormatMajorVersion: TableFormat, FS: vfs.Default})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Ingest(t.Context(), []string{path}); err != nil {
		t.Fatal(err)
	}
	cache := NewCache(1 << 20)
	defer func() { _ = cache.Close() }()
	plain, err := Open(db, meta.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(db, meta.ID, cache)
	if err != nil {
		t.Fatal(err)
	}
	var c Cursor
	defer func() { _ = c.Close() }()
	read, cached := 0, 0
	for range 2 {
		for d := range DocID(r.Documents()) {
			var want, got Outline // another one for each document, which keeps no group
			before := cache.Stats()
			if err := errors.Join(plain.Outline(&c, d, &want), r.Outline(&c, d, &got)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.records, want.records) {
				t.Fatalf("symbols of document %d: %v, want %v", d, got.records, want.records)
			}
			read, cached = read+int(cache.Stats().Misses-before.Misses), cached+int(cache.Stats().Hits-before.Hits)
		}
	}
	if groups := len(r.head.groupFirst); groups < 2 || read != groups || cached < groups {
		t.Errorf("%d groups: %d are read from the segment and %d from the cache, want each once from the segment", groups, read, cached)
	}
}

// walkable makes a database a Walkable.
type walkable struct{ *pebble.DB }

type walker struct{ *pebble.Iterator }

func (w walkable) Walk() (Walker, error) {
	it, err := w.NewIter(nil)
	return walker{it}, err
}

func (w walker) Err() error { return w.Error() }

func (w walker) Find(key []byte) bool { return w.SeekGE(key) && bytes.Equal(w.Key(), key) }

// TestCursorMissingPart checks that a missing key is an error and does not yield the
// value of the next key.
func TestCursorMissingPart(t *testing.T) {
	path, meta := build(t, Options{}, randomDocuments(rand.New(rand.NewPCG(4, 2)), 3))
	db, err := pebble.Open(t.TempDir(), &pebble.Options{FormatMajorVersion: TableFormat, FS: vfs.Default})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Ingest(t.Context(), []string{path}); err != nil {
		t.Fatal(err)
	}
	for _, src := range []Source{db, walkable{db}} {
		r, err := Open(src, meta.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &Cursor{}
		if b, err := c.readNumbered(r, partFrame, 1<<20); err == nil {
			t.Errorf("%T: got %d bytes of a frame that is not there", src, len(b))
		}
		if b, err := c.readPart(r, partKeys); err != nil || len(b) == 0 {
			t.Errorf("%T: keys: %d bytes: %v", src, len(b), err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPlaces(t *testing.T) {
	b := NewPlacesBuilder(4)
	b.Add(1, 7, NoRef, code.FlagTest, "a/b.c")
	b.Add(1, 8, NoRef, 0, "odd\nname")
	b.Add(3, 7, NoRef, 0, "z")
	p := b.Build()
	if !slices.Equal(p.First, []uint32{0, 0, 2, 2, 3}) || p.Len() != 3 || p.Ref != nil {
		t.Fatalf("%+v", p)
	}
	if string(p.Path(0)) != "a/b.c" || string(p.Path(1)) != "odd\x00name" || string(p.Path(2)) != "z" {
		t.Fatalf("paths %q", p.Paths)
	}
	if !slices.Equal(p.Live, []uint64{0b1010}) {
		t.Fatalf("live %b, want documents 1 and 3", p.Live)
	}
	many := NewPlacesBuilder(1)
	for range 1100 {
		many.Add(0, 7, NoRef, 0, "path")
	}
	if p = many.Build(); cap(p.Doc) > 1200 || cap(p.Paths) > 6000 || string(p.Path(1099)) != "path" {
		t.Errorf("1100 places have room for %d and %d bytes of paths", cap(p.Doc), cap(p.Paths))
	}
}

func FuzzUnpack(f *testing.F) {
	var p packer
	packed, err := p.packSized(nil, bytes.Repeat([]byte("kmalloc("), 40))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add([]byte{3, 'a', 'b', 'c'})
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := unpackSized(nil, b)
		if err != nil {
			return
		}
		var p packer
		again, err := p.packSized(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := unpackSized(nil, again); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%d bytes came back as %d: %v", len(text), len(back), err)
		}
	})
}
