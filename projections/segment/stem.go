package segment

import "strings"

// Stem returns the last element of a path without what follows its last dot; a
// name that begins with its only dot is its own stem.
func Stem(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		return name[:dot]
	}
	return name
}

// StemHash returns a hash of the Stem of a path, in which the case of ASCII
// letters does not count, so that the files of a name are found in a column of
// numbers. It is FNV-1a, and kept in memory alone.
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
