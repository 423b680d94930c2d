package segment

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MayHave reports whether the text space may have all of the grams. For a rare word
// it rules out most segments without reading their posting lists. The filter is
// read at the first call, and stays in memory: 0.8 % of the text at most. A segment
// without a filter may have everything.
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
		r.grams.Store(filter) // or what another has read at the same time
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
	if errors.Is(err, pebble.ErrNotFound) || errors.Is(err, code.ErrNotFound) { // of a store, of a file
		return filter, nil
	}
	return filter, err
}
