package segment

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/quarrysearch/quarry/projections/postings"
)

// runFilter is a set of hashes, one bit each, of runs of letters. For MayName, these are
// the runs of shortRun and of longRun letters in the names of the files, without their
// folders: among many files, nearly any three letters occur in a name, but few words have
// all of their runs of five letters in names. For MayPath, they are the runs of pathRun
// bytes in the folded paths.
type runFilter []uint64

const shortRun, longRun = 3, 5

// minRunFilter is the size of the smallest filter, in words of 64 bits.
const minRunFilter = 8

// runFilterWords returns the size of the filter for that many bytes of paths: one bit
// per byte, rounded to a power of two.
func runFilterWords(paths int) int {
	return max(minRunFilter, 1<<bits.Len(uint(paths/64)))
}

func runFilterBytes(paths int) int { return 8 * runFilterWords(paths) }

// MayName reports whether the name of a file, without its folder, may contain word,
// ignoring the case of ASCII letters. It has no false negatives. It returns true for
// words of less than three bytes or with non-ASCII letters. The first call reads all
// paths.
func (p *Places) MayName(word string) bool {
	filter := p.names.Load()
	if filter == nil {
		filter = p.newNameFilter()
		p.names.Store(filter) // or use the one that another goroutine has just built
	}
	size := shortRun
	if len(word) >= longRun {
		size = longRun
	}
	for i := 0; i+size <= len(word); i++ {
		if h, ok := hashRun(word[i : i+size]); ok && !filter.has(h) {
			return false
		}
	}
	return true
}

func (p *Places) newNameFilter() *runFilter {
	filter := make(runFilter, runFilterWords(len(p.Paths)))
	for i := range p.Len() {
		path := p.Path(i)
		name := path[bytes.LastIndexByte(path, '/')+1:]
		for j := 0; j+shortRun <= len(name); j++ {
			filter.addRun(name[j : j+shortRun])
			if j+longRun <= len(name) {
				filter.addRun(name[j : j+longRun])
			}
		}
	}
	return &filter
}

// pathRun is the length in bytes of the runs by which paths are excluded.
const pathRun = 6

// MayPath reports whether a path may contain a literal, ignoring letter case. It has no
// false negatives. It returns true for literals of less than pathRun bytes. The first call
// reads all paths.
func (p *Places) MayPath(literal string) bool {
	folded := postings.AppendFold(nil, []byte(literal))
	if len(folded) < pathRun {
		return true
	}
	filter := p.paths.Load()
	if filter == nil {
		filter = p.newPathFilter()
		p.paths.Store(filter) // or use the one that another goroutine has just built
	}
	for i := 0; i+pathRun <= len(folded); i++ {
		if !filter.has(hashPathRun(folded[i:])) {
			return false
		}
	}
	return true
}

func (p *Places) newPathFilter() *runFilter {
	filter := make(runFilter, runFilterWords(len(p.Paths)))
	var folded []byte
	for i := range p.Len() {
		folded = postings.AppendFold(folded[:0], p.Path(i))
		for j := 0; j+pathRun <= len(folded); j++ {
			filter.add(hashPathRun(folded[j:]))
		}
	}
	return &filter
}

// hashPathRun returns a hash of the first pathRun bytes.
func hashPathRun(b []byte) uint32 {
	run := uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
	return uint32(run * 0x9e3779b97f4a7c15 >> 32)
}

func (f runFilter) add(h uint32) {
	h &= uint32(len(f)*64 - 1)
	f[h/64] |= 1 << (h % 64)
}

func (f runFilter) has(h uint32) bool {
	h &= uint32(len(f)*64 - 1)
	return f[h/64]>>(h%64)&1 != 0
}

func (f runFilter) addRun(letters []byte) {
	if h, ok := hashRun(letters); ok {
		f.add(h)
	}
}

// hashRun returns a hash of some bytes that ignores the case of ASCII letters. ok is
// false if a byte is not ASCII.
func hashRun[T []byte | string](letters T) (h uint32, ok bool) {
	for i := range len(letters) {
		if letters[i] >= 0x80 {
			return 0, false
		}
		h = (h ^ uint32(lowerByte(letters[i]))) * 0x9e3779b1
		h ^= h >> 15
	}
	return h, true
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
