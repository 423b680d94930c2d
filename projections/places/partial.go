package places

import (
	"context"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// partialDocuments returns the documents of the partition whose symbols are partial. It
// usually returns nil, because there are none. It checks one byte of memory for each
// document, and reads the keys of the segments that have some.
func (pv *partitionView) partialDocuments() (map[code.DocumentKey]code.PartialReason, error) {
	var found map[code.DocumentKey]code.PartialReason
	for _, s := range pv.segments {
		var keys []code.DocumentKey
		for d := range segment.DocID(s.Reader.Documents()) {
			reason := s.Reader.Flags(d).PartialSymbols()
			if reason == "" {
				continue
			}
			if keys == nil {
				var err error
				if keys, err = s.Reader.Keys(); err != nil {
					return nil, err
				}
			}
			if found == nil {
				found = map[code.DocumentKey]code.PartialReason{}
			}
			found[keys[d]] = reason
		}
	}
	return found, nil
}

// CountPartialSymbols counts the searchable files of a ref whose symbols are partial, by
// reason. It walks the manifest if the partition has such documents.
func (v *View) CountPartialSymbols(ctx context.Context, id code.RepositoryID, ref code.Ref) (map[code.PartialReason]int, error) {
	part, _, err := v.refLevels(id, ref)
	if err != nil {
		return nil, err
	}
	partial, err := part.partialDocuments()
	if err != nil || partial == nil {
		return nil, err
	}
	counts := map[code.PartialReason]int{}
	err = v.Files(ctx, id, ref, "", func(place Place) bool {
		if reason := partial[place.Document]; reason != "" && place.Skipped == "" {
			counts[reason]++
		}
		return true
	})
	return counts, err
}
