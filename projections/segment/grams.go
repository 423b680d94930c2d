package segment

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MayHave reports whether the text space may contain all of the grams. For a rare word,
// it excludes most segments without reading their posting lists. The first call reads the
// filter, which stays in memory and takes at most 0.8 % of the size of the text. Without
// a filter, MayHave returns true.
func (r *Reader) MayHave(grams []postings.Gram) (bool, error) {
	if len(grams) == 0 {
		return true, nil
	}
	filter := r.grams.Load()
	if filter == nil {
		var err error
		if filter, err = r.readGrams(); err != nil {
			return false, err
		}
		r.grams.Store(filter) // or use the one that another goroutine has just read
	}
	return filter.MayHave(grams), nil
}

func (r *Reader) readGrams() (*postings.GramFilter, error) {
	filter := new(postings.GramFilter)
	err := r.withPart(partKey(r.id, partGrams), func(b []byte) (err error) {
		*filter, err = postings.ParseGramFilter(bytes.Clone(b))
		if err != nil {
			return fmt.Errorf("%w: grams: %w", ErrCorrupt, err)
		}
		return nil
	})
	if errors.Is(err, pebble.ErrNotFound) || errors.Is(err, code.ErrNotFound) { // from a store, from a file
		return filter, nil
	}
	return filter, r.noteCorrupt(err)
}
