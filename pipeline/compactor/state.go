package compactor

import (
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/event"
)

// state tracks the live segments of a partition, according to the records read so far.
type state struct {
	partition int32
	// next is the offset after the last record read.
	next event.Offset
	// last is the record before next, if one was read.
	last event.Record
	// segments are in log order.
	segments []*entry
	byID     map[segment.ID]*entry
	// merged holds the inputs of merges that no View has confirmed yet. It is nil
	// without Liveness, and emptied by each View.
	merged map[segment.ID]event.SegmentRef
	// unreadable are the segments of the last View that the projection holds and that this
	// compactor cannot read: the segment store may lack them, so that the projection may be
	// the last to have them, and lose them, too.
	unreadable []segment.ID
}

func newState(partition int32, confirmed bool) *state {
	s := &state{partition: partition, byID: map[segment.ID]*entry{}}
	if confirmed {
		s.merged = map[segment.ID]event.SegmentRef{}
	}
	return s
}

// concernsSegments reports, from a record's headers, whether it concerns segments.
func concernsSegments(rec event.Record) bool {
	t := event.TypeOf(rec)
	return t == event.TypeRevisionIndexed || t == event.TypeSegmentsMerged
}

// read applies the next record and reports whether it may have changed the segments. A
// record that cannot be decoded changes nothing: the projections write it to the dead
// letters.
func (s *state) read(rec event.Record) bool {
	s.next, s.last = rec.Position.Offset+1, rec
	if !concernsSegments(rec) {
		return false
	}
	_, ev, err := event.Decode(rec)
	if err != nil {
		return false
	}
	switch e := ev.(type) {
	case *event.RevisionIndexed:
		for _, ref := range e.Segments {
			if added := s.add(ref); added != nil {
				added.arrivedAt = time.Now()
			}
		}
		return len(e.Segments) > 0
	case *event.SegmentsMerged:
		return s.applyMerge(e)
	}
	return false
}

func (s *state) add(ref event.SegmentRef) *entry {
	id, err := segment.ParseID(ref.ID)
	if err != nil {
		return nil // Decode has validated it
	}
	if e := s.byID[id]; e != nil {
		return e
	}
	e := &entry{id: id, ref: ref, liveBytes: -1, classUnknown: s.merged != nil}
	s.byID[id] = e
	s.segments = append(s.segments, e)
	delete(s.merged, id)
	return e
}

// applyMerge applies a merge as the projections do: a merge whose inputs no longer exist
// is a duplicate. If Views confirm merges, its output is still added, since an earlier
// View may have removed the inputs.
func (s *state) applyMerge(ev *event.SegmentsMerged) bool {
	if ev.Partition != s.partition {
		return false
	}
	gone, arrivedAt := map[segment.ID]bool{}, time.Time{}
	for _, input := range ev.Inputs {
		id, err := segment.ParseID(input)
		if e := s.byID[id]; err == nil && e != nil && !ev.Adds(input) {
			gone[id] = true
			if e.arrivedAt.After(arrivedAt) {
				arrivedAt = e.arrivedAt
			}
			if s.merged != nil {
				s.merged[id] = e.ref
			}
		}
	}
	s.removeSegments(gone)
	if len(gone) == 0 && s.merged == nil {
		return true
	}
	for _, output := range ev.AllOutputs() {
		if e := s.add(output); e != nil && arrivedAt.After(e.arrivedAt) {
			e.arrivedAt = arrivedAt
		}
	}
	return true
}

func (s *state) removeSegments(gone map[segment.ID]bool) {
	if len(gone) == 0 {
		return
	}
	for id := range gone {
		delete(s.byID, id)
	}
	s.segments = slices.DeleteFunc(s.segments, func(e *entry) bool { return gone[e.id] })
}

// applyView reconciles the state with a View that has applied every record read. A
// segment that the projection does not have was never added, or is the output of a
// refused merge. A merge input that the projection still has belongs to a refused merge:
// it is restored, to be merged with all documents.
func (s *state) applyView(infos []SegmentInfo) (refused int) {
	live := make(map[segment.ID]*SegmentInfo, len(infos))
	for i := range infos {
		live[infos[i].ID] = &infos[i]
	}
	gone := map[segment.ID]bool{}
	for _, e := range s.segments {
		if info := live[e.id]; info != nil {
			e.applyInfo(info)
		} else {
			gone[e.id] = true
		}
	}
	s.removeSegments(gone)
	for _, info := range infos { // in the View's order, to be deterministic
		ref, ok := s.merged[info.ID]
		if !ok {
			continue
		}
		e := s.add(ref)
		e.keepAll = true
		e.applyInfo(&info)
		refused++
	}
	clear(s.merged)
	s.unreadable = nil
	for _, info := range infos {
		if e := s.byID[info.ID]; !info.Absent && (e == nil || e.isUnreadable()) {
			s.unreadable = append(s.unreadable, info.ID)
		}
	}
	return refused
}

// applyInfo applies the information of a View about a segment.
func (e *entry) applyInfo(info *SegmentInfo) {
	if e.deadDocuments != info.DeadDocuments {
		e.rewriteDroppedNone = false
	}
	e.liveBytes, e.deadDocuments, e.removedAt, e.eraseNow = info.LiveBytes, info.DeadDocuments, info.RemovedAt, info.Erase
	e.absent, e.replaced = info.Absent, info.Replaced
	e.class, e.mixed, e.classUnknown = info.Class, info.Mixed, false
}

// markLost marks as lost the segments that were missing in the segment store although the
// log, read since then, shows that they are live.
func (s *state) markLost() (lost []*entry) {
	for _, e := range s.segments {
		if e.suspect && !e.lost {
			e.lost = true
			lost = append(lost, e)
		}
	}
	return lost
}

// holdsAll reports whether all the segments are live.
func (s *state) holdsAll(inputs []*entry) bool {
	for _, e := range inputs {
		if s.byID[e.id] != e {
			return false
		}
	}
	return true
}
