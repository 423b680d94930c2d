package segment

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
)

// FuzzDecode decodes any header, table of documents and directory. What is accepted must
// satisfy the invariants that readers rely on.
func FuzzDecode(f *testing.F) {
	h := &header{version: formatVersion, documents: 1, textBytes: 5, languages: []string{"C"}, frameLines: []uint32{0, 1}, pageStart: []uint32{0}}
	f.Add(h.encode(), []byte{5, 0, 1, 0, 0, 0}, []byte{1, 2})
	h.languages = nil
	f.Add(h.encode(), []byte{5, 0, 1, 0, 0, 0}, []byte{1, 2})
	h.pageStart = nil
	f.Add(h.encode(), []byte{5, 0, 1, 0, 0, 0}, []byte{1, 2})
	h = &header{version: formatVersion, textBytes: FrameBytes + 1, lists: 2, kinds: []string{"k"}, frameLines: []uint32{0, 7, 9}, pageStart: []uint32{0, 3}, groupFirst: []uint32{0}}
	f.Add(h.encode(), []byte{5, 1, 1, 2}, []byte{})
	h.pageStart = []uint32{maxSpace, maxSpace + 1}
	f.Add(h.encode(), []byte{5, 1, 1, 2}, []byte{})
	f.Fuzz(func(t *testing.T, head, rows, group []byte) {
		h, err := decodeHeader(head)
		if err != nil {
			return
		}
		checkHeader(t, h, head)
		if docs, err := decodeDocuments(rows, h); err == nil {
			checkDocumentTable(t, h, docs)
			if h.documents > 0 {
				o := Outline{r: &Reader{head: h, docs: docs}, group: group}
				_ = o.decode(1)
			}
		}
		if d, err := decodeDirectory(rows, h); err == nil {
			checkDirectory(t, h, d)
		}
	})
}

// TestFrameCounts decodes headers of text spaces that end before, at and after the end of a
// frame, with the right number of frames and with one more or less.
func TestFrameCounts(t *testing.T) {
	for bytes, frames := range map[int]int{0: 0, 1: 1, FrameBytes - 1: 1, FrameBytes: 1, FrameBytes + 1: 2, 2 * FrameBytes: 2} {
		for n := max(frames-1, 0); n <= frames+1; n++ {
			h := &header{version: formatVersion, symbolBytes: bytes, frameLines: make([]uint32, n+1), pageStart: []uint32{0}}
			if _, err := decodeHeader(h.encode()); (err == nil) != (n == frames) {
				t.Errorf("%d bytes in %d frames, which are %d: %v", bytes, n, frames, err)
			}
		}
	}
}

// TestHeaderVersions decodes headers of all versions: those that this program does not read are of
// another format, not damaged.
func TestHeaderVersions(t *testing.T) {
	for version := range 256 {
		h := &header{version: byte(version), frameLines: []uint32{0}, pageStart: []uint32{0}}
		_, err := decodeHeader(h.encode())
		if known := version >= versionWithoutDefinitions && version <= formatVersion; known && err != nil || !known && !errors.Is(err, ErrFormat) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

// checkHeader checks the invariants of a header that was decoded from b.
func checkHeader(t *testing.T, h *header, b []byte) {
	t.Helper()
	again, err := decodeHeader(h.encode())
	if err != nil || !reflect.DeepEqual(again, h) {
		t.Errorf("header %+v is encoded as %+v: %v", h, again, err)
	}
	for _, n := range []int{h.documents, h.symbols, h.textBytes, h.symbolBytes, h.lists} {
		if n < 0 || n > maxSpace {
			t.Errorf("header %+v: %d is out of bounds", h, n)
		}
	}
	if frames := (h.textBytes + h.symbolBytes + FrameBytes - 1) / FrameBytes; h.frameCount() != frames || len(h.pageStart) == 0 {
		t.Errorf("header %+v: %d frames, want %d, and at least one page start", h, h.frameCount(), frames)
	}
	for _, column := range [][]uint32{h.frameLines, h.pageStart, h.groupFirst} {
		if !slices.IsSorted(column) || len(column) > 0 && column[len(column)-1] > maxSpace {
			t.Errorf("header %+v: %v is not ascending, or out of bounds", h, column)
		}
	}
	if _, err := decodeHeader(append(bytes.Clone(b), 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("header %x with one more byte: %v, want %v", b, err, ErrCorrupt)
	}
	if _, err := decodeHeader(b[:len(b)-1]); !errors.Is(err, ErrCorrupt) {
		t.Errorf("header %x without its last byte: %v, want %v", b, err, ErrCorrupt)
	}
}

// checkDocumentTable checks that the documents cover the text space and have languages.
func checkDocumentTable(t *testing.T, h *header, d *documentTable) {
	t.Helper()
	for _, column := range [][]uint32{d.text, d.symbolText, d.lines} {
		if len(column) != h.documents+1 || !slices.IsSorted(column) {
			t.Errorf("%d documents with the offsets %v", h.documents, column)
		}
	}
	if d.text[h.documents] != uint32(h.textBytes) || d.symbolText[h.documents] != uint32(h.textBytes+h.symbolBytes) {
		t.Errorf("documents to %d and %d, want %d and %d", d.text[h.documents], d.symbolText[h.documents], h.textBytes, h.textBytes+h.symbolBytes)
	}
	for i, n := range d.language {
		if int(n) >= len(h.languages) {
			t.Errorf("document %d has language %d of %d", i, n, len(h.languages))
		}
	}
}

// trigrams returns the trigrams that have lists.
func (d *directory) trigrams() (all []postings.Trigram) {
	for b := range len(d.bucket) - 1 {
		for _, low := range d.low[d.bucket[b]:d.bucket[b+1]] {
			all = append(all, postings.Trigram(b)<<d.shift|postings.Trigram(low))
		}
	}
	return all
}

// checkDirectory checks that each list is in the postings.
func checkDirectory(t *testing.T, h *header, d *directory) {
	t.Helper()
	trigrams := d.trigrams()
	if len(trigrams) != h.lists || !slices.IsSorted(trigrams) || len(d.start) != h.lists+1 || !slices.IsSorted(d.start) {
		t.Errorf("%d lists, trigrams %v at %v", h.lists, trigrams, d.start)
	}
	end := h.pageStart[len(h.pageStart)-1]
	for _, trigram := range trigrams {
		if start, size := d.findList(trigram); start > end || size > end-start {
			t.Errorf("the list of trigram %d is at %d+%d, after the postings, which end at %d", trigram, start, size, end)
		}
	}
}

// damagedSource changes one byte of one part of a segment.
type damagedSource struct {
	Source
	key  []byte
	at   int
	flip byte
}

func (s *damagedSource) Get(key []byte) ([]byte, io.Closer, error) {
	b, closer, err := s.Source.Get(key)
	if err == nil && bytes.Equal(key, s.key) {
		b = bytes.Clone(b)
		b[s.at] ^= s.flip
	}
	return b, closer, err
}

// TestDamagedByte changes every byte of the parts that a reader keeps in memory. Such a
// segment is refused with ErrCorrupt or ErrFormat, or all of it can be read without a panic.
func TestDamagedByte(t *testing.T) {
	docs := randomDocuments(rand.New(rand.NewPCG(36, 1)), 5)
	path, _ := build(t, Options{Seed: []byte{36}}, docs)
	f, err := OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	refused := 0
	for _, part := range []byte{partHeader, partDocuments, partDirectory, partKeys} {
		key := partKey(f.ID(), part)
		b, closer, err := f.src.Get(key)
		if err != nil {
			t.Fatal(err)
		}
		size := len(b)
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
		for at := range size {
			for _, flip := range []byte{1, 0x80, 0xff} {
				r, err := Open(&damagedSource{f.src, key, at, flip}, f.ID(), nil)
				if err == nil {
					err = readAll(r)
				}
				switch {
				case err == nil:
				case errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFormat) || errors.Is(err, postings.ErrCorrupt):
					refused++
				default:
					t.Errorf("part %q, byte %d ^ %#x: %v", part, at, flip, err)
				}
			}
		}
	}
	if refused == 0 {
		t.Error("no damaged byte was refused")
	}
}

// readAll reads every document, symbol and list of a segment.
func readAll(r *Reader) error {
	c := &Cursor{}
	defer func() { _ = c.Close() }()
	if _, err := r.Keys(); err != nil {
		return err
	}
	for i := range r.Documents() {
		d := DocID(i)
		_, _ = r.Language(d), r.Flags(d)
		if _, err := r.Text(d, nil); err != nil {
			return err
		}
		if _, err := r.Symbols(d); err != nil {
			return err
		}
		text := NewText(r, c)
		lo, hi := r.TextRange(d)
		if _, err := text.Lines(d, hi-lo); err != nil {
			return err
		}
	}
	for _, trigram := range r.dir.trigrams() {
		if _, err := r.List(c, r.FindList(trigram)); err != nil {
			return err
		}
	}
	return nil
}
