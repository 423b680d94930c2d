package compactor

import "time"

// purgeInputs returns segments to rewrite so that text of removals before a time, or of
// erasures, leaves the disk: the oldest ones that fit into one output.
func (p Policy) purgeInputs(segments []*entry, before time.Time) []*entry {
	var inputs []*entry
	text := int64(0)
	for _, e := range segments {
		if !e.isDue(before) || e.isUnreadable() || e.rewriteDroppedNone {
			continue
		}
		if len(inputs) > 0 && (e.class != inputs[0].class || e.mergeAlone || inputs[0].mergeAlone || len(inputs) == MaxInputs || text+e.ref.TextBytes > p.MaxTextBytes) {
			continue
		}
		inputs = append(inputs, e)
		text += e.ref.TextBytes
	}
	return inputs
}

// isDue reports whether a segment must be rewritten because of the text of a removal.
func (e *entry) isDue(before time.Time) bool {
	return e.deadDocuments > 0 && (e.eraseNow || !e.removedAt.IsZero() && !e.removedAt.After(before))
}

// choosePurge returns the merge that is due for dead text, if any.
func (f *follower) choosePurge() plan {
	var before time.Time // zero time: no removal is that old, so only erasures are due
	if f.c.o.PurgeAfter > 0 {
		before = f.c.o.Now().Add(-f.c.o.PurgeAfter / 2)
	}
	return plan{f.c.o.Policy.purgeInputs(f.state.segments, before), reasonPurge}
}
