package compactor

import (
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Constants of the policy; docs/adr/0007 gives the reasons.
const (
	// FanIn is how many segments of a tier are merged at least, and the factor
	// between the bounds of tiers. It must be one number: FanIn segments of a tier
	// then make one of a higher tier.
	FanIn = 8
	// MaxInputs bounds the inputs of one merge: many more than FanIn, so that a
	// backlog shrinks faster than it grows.
	MaxInputs = 64
	// tierBytes is the upper bound of the lowest tier.
	tierBytes = FanIn * documentBytes
	// documentBytes is the size that a document counts in addition to its text:
	// keys, columns and postings. Without it, tiny segments would never leave the
	// lowest tier.
	documentBytes = 512
	// rewriteShare is the part of MaxTextBytes below which a segment is not
	// rewritten because it has died: a merge by number will take it.
	rewriteShare = 64
)

// Policy says which segments to merge. The zero value works. It is a pure
// function of the segments.
//
// Segments are put into tiers by size: below 4 KiB, 32 KiB, 256 KiB, and so on up
// to half of MaxTextBytes; larger ones are sealed and only rewritten when more
// than half of their text is dead. A tier with FanIn segments is merged, oldest
// first.
type Policy struct {
	// MaxTextBytes bounds the text of a merged segment. Default:
	// segment.DefaultMaxTextBytes.
	MaxTextBytes int64
}

func (p *Policy) ensureDefaults() {
	if p.MaxTextBytes <= 0 {
		p.MaxTextBytes = segment.DefaultMaxTextBytes
	}
}

// entry is a segment that lives, by the log.
type entry struct {
	id  segment.ID
	ref event.SegmentRef
	// liveBytes is the size of the live text, -1 if it is not known.
	liveBytes int64
	// keepAll: no document of it may be dropped, since a merge that did was refused.
	keepAll bool
	// mergeAlone: no other segment fits into one output with it.
	mergeAlone bool
	// suspect: the segment store did not have it. If a merge has taken it, reading
	// the log shows that; otherwise it is lost.
	suspect bool
	// lost: it cannot be read, and is left alone until the process starts again.
	lost bool
	// faults counts failures to read it.
	faults int
	// deadDocuments counts its dead documents, removedAt is when the oldest removal left some of
	// them; by the last View.
	deadDocuments int
	removedAt     time.Time
	// eraseNow: such text is to be removed from the disk now.
	eraseNow bool
	// rewriteDroppedNone: a rewrite for its dead documents dropped none.
	rewriteDroppedNone bool
	// absent and replaced are those of SegmentInfo, by the last View.
	absent, replaced bool
}

// tierSize is what a segment counts in the choice of its tier.
func (e *entry) tierSize() int64 {
	return e.ref.TextBytes + documentBytes*int64(max(e.ref.Documents, 1))
}

// Tiers returns the number of tiers below the sealed segments: 6 by default.
func (p Policy) Tiers() int {
	p.ensureDefaults()
	return p.tierForSize(p.sealedBytes())
}

// sealedBytes is the size from which a segment is sealed. Two smaller ones
// always fit into one.
func (p Policy) sealedBytes() int64 { return p.MaxTextBytes / 2 }

// tierForSize returns the number of the tier for a size, from 0; Tiers() for sealed.
func (p Policy) tierForSize(size int64) int {
	n := 0
	for bound := int64(tierBytes); bound < p.sealedBytes(); bound *= FanIn {
		if size < bound {
			return n
		}
		n++
	}
	if size < p.sealedBytes() {
		return n
	}
	return n + 1
}

// plan is a merge to be made, in the order of the log.
type plan struct {
	inputs []*entry
	reason string
}

// The reasons of a merge, as label values.
const (
	reasonNumber = "number"
	reasonDead   = "dead"
	reasonQuiet  = "quiet"
	reasonPurge  = "purge"
	reasonLost   = "lost"
)

// choosePlan returns the next merge; no inputs if there is none to be made. Merges
// by number come first: they are cheap, and they drop what is dead as well.
func (p Policy) choosePlan(segments []*entry) plan {
	if inputs := p.fullestTier(segments); len(inputs) > 0 {
		return plan{inputs, reasonNumber}
	}
	if e := p.mostDead(segments); e != nil {
		return plan{[]*entry{e}, reasonDead}
	}
	return plan{}
}

// fullestTier returns the oldest segments of the tier that has most, if it has FanIn
// of them; the lower tier of two equal ones.
func (p Policy) fullestTier(segments []*entry) []*entry {
	counts := make([]int, p.tierForSize(p.sealedBytes()))
	for _, e := range segments {
		if t := p.tierOf(e); t < len(counts) {
			counts[t]++
		}
	}
	most := 0
	for t, n := range counts {
		if n > counts[most] {
			most = t
		}
	}
	if counts[most] < FanIn {
		return nil
	}
	return p.oldestOfTier(segments, most)
}

// isUnreadable reports whether a merge would find nothing in the segment store.
func (e *entry) isUnreadable() bool { return e.lost || e.absent }

// replacedSegments returns the oldest segments that the segment store lost and whose documents
// other segments hold: a merge without an output takes them out of the log's list.
func (p Policy) replacedSegments(segments []*entry) []*entry {
	var inputs []*entry
	for _, e := range segments {
		if e.absent && e.replaced && len(inputs) < MaxInputs {
			inputs = append(inputs, e)
		}
	}
	return inputs
}

// tierOf returns the tier of a segment; segments that are not to be merged by
// number count as sealed.
func (p Policy) tierOf(e *entry) int {
	if e.mergeAlone || e.isUnreadable() {
		return p.tierForSize(p.sealedBytes())
	}
	return p.tierForSize(e.tierSize())
}

// oldestOfTier returns the first segments of a tier that fit into one: at least two,
// and more than half of MaxTextBytes if they are fewer than FanIn.
func (p Policy) oldestOfTier(segments []*entry, tier int) []*entry {
	var inputs []*entry
	text := int64(0)
	for _, e := range segments {
		if p.tierOf(e) != tier {
			continue
		}
		if len(inputs) == MaxInputs || text+e.ref.TextBytes > p.MaxTextBytes {
			break
		}
		inputs = append(inputs, e)
		text += e.ref.TextBytes
	}
	return inputs
}

// mostDead returns the large segment with most dead text among those that have more
// dead text than live.
func (p Policy) mostDead(segments []*entry) *entry {
	var worst *entry
	for _, e := range segments {
		if e.liveBytes < 0 || e.keepAll || e.isUnreadable() || e.mergeAlone || e.ref.TextBytes < p.MaxTextBytes/rewriteShare {
			continue
		}
		if e.deadBytes() > e.liveBytes && (worst == nil || e.deadBytes() > worst.deadBytes()) {
			worst = e
		}
	}
	return worst
}

func (e *entry) deadBytes() int64 { return e.ref.TextBytes - e.liveBytes }
