package identifier

import (
	"strings"

	"github.com/quarrysearch/quarry/projections/segment"
)

// NamesFile reports whether a path ends in a file called fold, with or without the
// extension.
func NamesFile(fold, path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	return strings.EqualFold(base, fold) || strings.EqualFold(segment.Stem(base), fold)
}
