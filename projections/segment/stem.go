package segment

import "strings"

// Stem returns the last element of a path up to its last dot. A name whose only dot is
// its first character is its own stem.
func Stem(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		return name[:dot]
	}
	return name
}

// StemHash returns a hash of the Stem of a path that ignores the case of ASCII letters,
// so that the files with a name are found in a column of numbers. It uses FNV-1a, and is
// only kept in memory.
func StemHash(path string) uint32 {
	h := uint32(2166136261)
	for _, c := range []byte(Stem(path)) {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}
