package compactor

import (
	"cmp"
	"slices"
	"time"
)

// DefaultQuiet is how long a class must be idle before the segments left over by
// merges by number are merged too: longer than the pause between pushes in a busy
// installation, but short for users.
const DefaultQuiet = 5 * time.Second

// quietInputs returns the segments of a quiet class to merge: as many of the smallest
// as fit into one output, none more than twice as large as all others together. (The
// factor is two because two halves of an import are not quite equal.) So each merge lifts
// a segment to at least 1.5 times its size, and a document is written at most once per
// such step. Of the remaining segments, each is more than twice as large as all smaller
// ones together; usually two or three remain.
//
// Rejected: a smaller FanIn. It would have the same effect on the number of segments, but
// would make merges more expensive when there is least time for them.
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
	for _, e := range segments { // in log order
		if chosen[e] {
			inputs = append(inputs, e)
		}
	}
	return inputs
}
