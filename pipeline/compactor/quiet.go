package compactor

import (
	"cmp"
	"slices"
	"time"
)

// DefaultQuiet is how long nothing must have been indexed in a partition before
// what merges by number have left is merged as well: longer than the pause
// between the pushes of a busy installation, short for people.
const DefaultQuiet = 5 * time.Second

// quietInputs returns the segments to merge when nothing comes: as many as fit of the
// smallest, of which none is more than twice as large as all the others together:
// two halves of an import are not quite equal. So each is lifted into a segment of
// at least 1.5 times its size, and a document is written once per such step at
// most; and of what is left, each segment is more than twice as large as all
// smaller ones together: mostly two or three are left.
//
// Rejected: a smaller FanIn. It would have the same effect on the number of
// segments, and would make merges more expensive when there is least time for them.
func (p Policy) quietInputs(segments []*entry) []*entry {
	var small []*entry
	for _, e := range segments {
		if p.tierOf(e) < p.Tiers() {
			small = append(small, e)
		}
	}
	slices.SortStableFunc(small, func(a, b *entry) int { return cmp.Compare(a.tierSize(), b.tierSize()) })
	take, size, text := 0, int64(0), int64(0)
	for i, e := range small[:min(len(small), MaxInputs)] {
		if text += e.ref.TextBytes; text > p.MaxTextBytes {
			break
		}
		if i > 0 && e.tierSize() <= 2*size {
			take = i + 1
		}
		size += e.tierSize()
	}
	chosen := map[*entry]bool{}
	for _, e := range small[:take] {
		chosen[e] = true
	}
	var inputs []*entry
	for _, e := range segments { // in the order of the log
		if chosen[e] {
			inputs = append(inputs, e)
		}
	}
	return inputs
}
