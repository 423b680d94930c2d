package compactor

import (
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Constants of the policy; docs/adr/0007 gives the reasons.
const (
	// FanIn is the minimum number of segments of a tier in a merge, and the factor
	// between the bounds of tiers. It must be the same number: FanIn segments of a tier
	// then make one of a higher tier.
	FanIn = 8
	// MaxInputs bounds the inputs of one merge. It is much larger than FanIn, so that a
	// backlog shrinks faster than it grows.
	MaxInputs = 64
	// tierBytes is the upper bound of the lowest tier.
	tierBytes = FanIn * documentBytes
	// documentBytes is the size counted for a document in addition to its text: keys,
	// columns and postings. Without it, tiny segments would never leave the lowest tier.
	documentBytes = 512
	// rewriteShare is the fraction of MaxTextBytes below which a segment is not rewritten
	// because of dead documents: a merge by number will include it.
	rewriteShare = 64
)

// Policy chooses the segments to merge. The zero value is usable. It is a pure function
// of the segments.
//
// Segments are put into tiers by size: below 4 KiB, 32 KiB, 256 KiB, and so on up to half
// of MaxTextBytes. Larger segments are sealed, and only rewritten when more than half of
// their text is dead. A tier with FanIn segments of a class is merged, oldest first.
// Segments of different classes are never merged.
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

// entry is a segment that is live according to the log.
type entry struct {
	id  segment.ID
	ref event.SegmentRef
	// liveBytes is the size of the live text; -1 if it is unknown.
	liveBytes int64
	// keepAll means that no document may be dropped, because a merge that dropped some
	// was refused.
	keepAll bool
	// mergeAlone means that no other segment fits into one output with it.
	mergeAlone bool
	// suspect means that the segment was missing in the segment store. If a merge has
	// consumed it, the log shows that; otherwise it is lost.
	suspect bool
	// lost means that it cannot be read; it is ignored until the process restarts.
	lost bool
	// faults counts failed attempts to read it.
	faults int
	// deadDocuments counts its dead documents; removedAt is the time of the oldest
	// removal that left some of them. Both are from the last View.
	deadDocuments int
	removedAt     time.Time
	// eraseNow means that such text must be removed from the disk now.
	eraseNow bool
	// rewriteDroppedNone means that a rewrite because of dead documents dropped none.
	rewriteDroppedNone bool
	// absent and replaced are the fields of SegmentInfo, from the last View.
	absent, replaced bool
	// class is the field of SegmentInfo. classUnknown means that no View has shown the
	// segment yet; it then is not merged.
	class        string
	mixed        bool
	classUnknown bool
	// arrivedAt is when the newest revision arrived whose text it contains.
	arrivedAt time.Time
}

// tierSize returns the size that determines the tier of a segment.
func (e *entry) tierSize() int64 {
	return e.ref.TextBytes + documentBytes*int64(max(e.ref.Documents, 1))
}

// Tiers returns the number of tiers below the sealed segments: 6 by default.
func (p Policy) Tiers() int {
	p.ensureDefaults()
	return p.tierForSize(p.sealedBytes())
}

// sealedBytes returns the size from which a segment is sealed. Two smaller segments
// always fit into one output.
func (p Policy) sealedBytes() int64 { return p.MaxTextBytes / 2 }

// tierForSize returns the tier for a size, from 0; Tiers() means sealed.
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

// plan is a merge to make; its inputs are in the order of the log.
type plan struct {
	inputs []*entry
	reason string
}

// Reasons of a merge, as label values.
const (
	reasonNumber = "number"
	reasonDead   = "dead"
	reasonQuiet  = "quiet"
	reasonPurge  = "purge"
	reasonLost   = "lost"
	reasonDivide = "divide"
)

// choosePlan returns the next merge; it has no inputs if there is nothing to merge.
// Merges by number come first: they are cheap, and they also drop dead documents.
func (p Policy) choosePlan(segments []*entry) plan {
	if inputs := p.fullestTier(segments); len(inputs) > 0 {
		return plan{inputs, reasonNumber}
	}
	if e := p.mostDead(segments); e != nil {
		return plan{[]*entry{e}, reasonDead}
	}
	return plan{}
}

// fullestTier returns the oldest segments of the tier of a class with the most segments,
// if it has FanIn of them; of two equal tiers, the lower one, and then that of the older
// class.
func (p Policy) fullestTier(segments []*entry) []*entry {
	var best []*entry
	tier, most := 0, FanIn-1
	for _, class := range groupByClass(segments) {
		counts := make([]int, p.Tiers())
		for _, e := range class {
			if t := p.tierOf(e); t < len(counts) {
				counts[t]++
			}
		}
		for t, n := range counts {
			if n > most || n == most && best != nil && t < tier {
				best, tier, most = class, t, n
			}
		}
	}
	return p.oldestOfTier(best, tier)
}

// mixedSegment returns the oldest segment with text of several classes, or nil.
func (p Policy) mixedSegment(segments []*entry) *entry {
	for _, e := range segments {
		if e.mixed && !e.isUnreadable() && !e.keepAll {
			return e
		}
	}
	return nil
}

// isUnreadable reports whether the segment store does not have the segment.
func (e *entry) isUnreadable() bool { return e.lost || e.absent }

// replacedSegments returns the oldest segments that the segment store lost and whose
// documents are in other segments: a merge without an output removes them from the log's
// list.
func (p Policy) replacedSegments(segments []*entry) []*entry {
	var inputs []*entry
	for _, e := range segments {
		if e.absent && e.replaced && len(inputs) < MaxInputs {
			inputs = append(inputs, e)
		}
	}
	return inputs
}

// tierOf returns the tier of a segment; segments that must not be merged by number count
// as sealed.
func (p Policy) tierOf(e *entry) int {
	if e.mergeAlone || e.isUnreadable() || e.classUnknown {
		return p.tierForSize(p.sealedBytes())
	}
	return p.tierForSize(e.tierSize())
}

// oldestOfTier returns the first segments of a tier that fit into one output: at least
// two, and more than half of MaxTextBytes if they are fewer than FanIn.
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

// mostDead returns the large segment with the most dead text among those with more dead
// text than live text.
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
