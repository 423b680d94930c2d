package segment

import (
	"bytes"
	"math/bits"
)

// nameFilter says which three letters the names of the files may have, without their folders: a set of hashes, one bit
// each.
type nameFilter []uint64

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
	for i := 0; i+3 <= len(word); i++ {
		if a, b, c := word[i], word[i+1], word[i+2]; a|b|c < 0x80 && !filter.has(hashLetters(a, b, c)) {
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
		for j := 0; j+3 <= len(name); j++ {
			filter.add(hashLetters(name[j], name[j+1], name[j+2]))
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

// hashLetters returns a hash of three bytes, in which the case of ASCII letters does not count.
func hashLetters(a, b, c byte) uint32 {
	h := uint32(lowerByte(a)) | uint32(lowerByte(b))<<8 | uint32(lowerByte(c))<<16
	h *= 0x9e3779b1
	return h ^ h>>15
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
