package segment

import (
	"bytes"
	"math/bits"
)

// nameFilter says which runs of shortRun and of longRun letters the names of the files may have, without their folders: a
// set of hashes, one bit each. Among many files nearly any three letters occur in a name, but few words have all their five.
type nameFilter []uint64

const shortRun, longRun = 3, 5

// minNameFilter is the size of the smallest filter, in words of 64 bits.
const minNameFilter = 8

// nameFilterWords returns the size of the filter for so many bytes of paths: a bit for each byte, as a power of two.
func nameFilterWords(paths int) int {
	return max(minNameFilter, 1<<bits.Len(uint(paths/64)))
}

func nameFilterBytes(paths int) int { return 8 * nameFilterWords(paths) }

// MayName reports whether the name of a file, without its folder, may have a word in it, in whatever case of ASCII
// letters: false is certain, true says to look. Words of less than three bytes, and letters beyond ASCII, may be anywhere.
// The first call looks at all paths.
func (p *Places) MayName(word string) bool {
	filter := p.names.Load()
	if filter == nil {
		filter = p.newNameFilter()
		p.names.Store(filter) // or what another has made at the same time
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

func (p *Places) newNameFilter() *nameFilter {
	filter := make(nameFilter, nameFilterWords(len(p.Paths)))
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

func (f nameFilter) add(h uint32) {
	h &= uint32(len(f)*64 - 1)
	f[h/64] |= 1 << (h % 64)
}

func (f nameFilter) has(h uint32) bool {
	h &= uint32(len(f)*64 - 1)
	return f[h/64]>>(h%64)&1 != 0
}

func (f nameFilter) addRun(letters []byte) {
	if h, ok := hashRun(letters); ok {
		f.add(h)
	}
}

// hashRun returns a hash of some bytes, in which the case of ASCII letters does not count; ok is false if one is no ASCII.
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
