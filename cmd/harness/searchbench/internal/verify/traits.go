package verify

import (
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
)

// trait holds the properties of a file that excuse a difference.
type trait struct {
	undecodable bool // not UTF-8
	err         error
}

// maxRemembered bounds the number of remembered traits. Beyond it, files are read again.
const maxRemembered = 1_000_000

func (c *Checker) fileTraits(place engine.Place) trait {
	if t, ok := c.files[place]; ok {
		return t
	}
	t := readTrait(filepath.Join(c.Trees[place.Repository], filepath.FromSlash(place.Path)))
	if c.files == nil {
		c.files = make(map[engine.Place]trait)
	}
	if len(c.files) < maxRemembered {
		c.files[place] = t
	}
	return t
}

func readTrait(path string) trait {
	data, err := os.ReadFile(path)
	if err != nil {
		return trait{err: err}
	}
	return trait{undecodable: !utf8.Valid(data)}
}
