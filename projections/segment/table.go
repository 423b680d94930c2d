package segment

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sort"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/schemas/code"
)

// documentRow is one row of the value of partDocuments.
type documentRow struct {
	textBytes, symbolBytes int
	lines                  int // line feeds in the text
	symbols                int
	language               int // index into header.languages
	flags                  code.Flags
}

func (r *documentRow) append(b []byte) []byte {
	for _, n := range []int{r.textBytes, r.symbolBytes, r.lines, r.symbols, r.language} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return append(b, byte(r.flags))
}

// documentTable is the resident form of partDocuments. Offsets are into the text space;
// each column of offsets has an extra element at the end.
type documentTable struct {
	text, symbolText []uint32
	lines            []uint32 // line feeds of the text space before the document
	language         []uint16
	flags            []code.Flags
}

func decodeDocuments(b []byte, h *header) (*documentTable, error) {
	n := h.documents
	if n > len(b) {
		return nil, fmt.Errorf("%w: %d documents in %d bytes", ErrCorrupt, n, len(b))
	}
	if n > 0 && len(h.languages) == 0 {
		return nil, fmt.Errorf("%w: %d documents without a language", ErrCorrupt, n)
	}
	t := &documentTable{
		text: make([]uint32, 0, n+1), symbolText: make([]uint32, 0, n+1), lines: make([]uint32, 0, n+1),
		language: make([]uint16, 0, n), flags: make([]code.Flags, 0, n),
	}
	d := decoder{b: b}
	text, names, lines := uint64(0), uint64(h.textBytes), uint64(0)
	if h.symbolBytes > 0 {
		names++ // the line feed before the first name
	}
	for range n {
		t.text = append(t.text, uint32(text))
		t.symbolText = append(t.symbolText, uint32(names))
		t.lines = append(t.lines, uint32(lines))
		text += d.readUvarint(maxSpace)
		names += d.readUvarint(maxSpace)
		lines += d.readUvarint(maxSpace)
		d.readUvarint(code.MaxSymbolsPerDocument)
		t.language = append(t.language, uint16(d.readUvarint(uint64(max(0, len(h.languages)-1)))))
		flags := d.readBytes(1)
		if d.failed || text > uint64(h.textBytes) || names > uint64(h.textBytes+h.symbolBytes) {
			return nil, fmt.Errorf("%w: documents", ErrCorrupt)
		}
		t.flags = append(t.flags, code.Flags(flags[0]))
	}
	if text != uint64(h.textBytes) || names != uint64(h.textBytes+h.symbolBytes) {
		return nil, fmt.Errorf("%w: document sizes", ErrCorrupt)
	}
	t.text = append(t.text, uint32(text))
	t.symbolText = append(t.symbolText, uint32(names))
	t.lines = append(t.lines, uint32(lines))
	return t, nil
}

// directory is the resident form of partDirectory: the trigrams in ascending order, and
// the locations of their lists in the postings.
type directory struct {
	trigrams []postings.Trigram
	start    []uint32 // one extra element at the end
	// bucket[b] is the first trigram t with t>>shift ≥ b, with one extra element at the
	// end. It saves the first steps of a search, which miss the processor's caches.
	bucket []uint32
	shift  uint
}

// trigramBits is the size of a trigram, bucketShare the average number of trigrams in a
// bucket.
const (
	trigramBits = 24
	bucketShare = 8
)

// buildBuckets fills in bucket.
func (d *directory) buildBuckets() {
	size := min(bits.Len(uint(len(d.trigrams)/bucketShare)), trigramBits)
	d.shift = uint(trigramBits - size)
	d.bucket = make([]uint32, 1<<size+1)
	b := 0
	for i, t := range d.trigrams {
		for ; b <= int(t>>d.shift); b++ {
			d.bucket[b] = uint32(i)
		}
	}
	for ; b < len(d.bucket); b++ {
		d.bucket[b] = uint32(len(d.trigrams))
	}
}

func (d *directory) add(t postings.Trigram, size int) {
	if len(d.start) == 0 {
		d.start = append(d.start, 0)
	}
	d.trigrams = append(d.trigrams, t)
	d.start = append(d.start, d.start[len(d.start)-1]+uint32(size))
}

func (d *directory) encode() []byte {
	b := make([]byte, 0, 4*len(d.trigrams))
	previous := postings.Trigram(0)
	for i, t := range d.trigrams {
		b = binary.AppendUvarint(b, uint64(t-previous))
		b = binary.AppendUvarint(b, uint64(d.start[i+1]-d.start[i]))
		previous = t
	}
	return b
}

func decodeDirectory(b []byte, h *header) (*directory, error) {
	if h.lists > len(b) {
		return nil, fmt.Errorf("%w: %d lists in %d bytes", ErrCorrupt, h.lists, len(b))
	}
	d := &directory{trigrams: make([]postings.Trigram, 0, h.lists), start: make([]uint32, 1, h.lists+1)}
	in, t, at := decoder{b: b}, uint64(0), uint64(0)
	for range h.lists {
		t += in.readUvarint(uint64(postings.MaxTrigram))
		at += in.readUvarint(maxSpace)
		if in.failed || t > uint64(postings.MaxTrigram) || at > maxSpace {
			return nil, fmt.Errorf("%w: trigram directory", ErrCorrupt)
		}
		d.trigrams = append(d.trigrams, postings.Trigram(t))
		d.start = append(d.start, uint32(at))
	}
	d.buildBuckets()
	if end := h.pageStart[len(h.pageStart)-1]; uint64(end) != at {
		return nil, fmt.Errorf("%w: postings of %d bytes, directory of %d", ErrCorrupt, end, at)
	}
	return d, nil
}

// findList returns the location of a trigram's list; size is 0 if there is none.
func (d *directory) findList(t postings.Trigram) (start, size uint32) {
	b := t >> d.shift
	lo, hi := d.bucket[b], d.bucket[b+1]
	for lo < hi {
		if mid := (lo + hi) / 2; d.trigrams[mid] < t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if int(lo) == len(d.trigrams) || d.trigrams[lo] != t {
		return 0, 0
	}
	return d.start[lo], d.start[lo+1] - d.start[lo]
}

// lastAtMost returns the index of the last element of the ascending bounds that is at
// most v.
func lastAtMost(bounds []uint32, v uint32) int {
	return sort.Search(len(bounds), func(i int) bool { return bounds[i] > v }) - 1
}
