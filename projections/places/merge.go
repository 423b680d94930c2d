package places

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// The outcomes of a merge that has no effect, as label values.
const (
	outcomePartition = "merge_of_other_partition"
	outcomeRepeated  = "merge_repeated"
	outcomeLost      = "merge_refused"
)

// applyMerge applies a SegmentsMerged: the outputs replace the inputs. The merge is
// refused, without a change, if no segment would hold a document that manifests name,
// which happens if the document became live after the compactor read its state. The
// compactor then tries again.
//
// A store that applies the event late may lack segments that were merged further and deleted.
// Then it does as the others did; see wasApplied.
func (c *change) applyMerge(ctx context.Context, ev *event.SegmentsMerged) error {
	if ev.Partition != c.at.Partition {
		c.stage.outcomes = append(c.stage.outcomes, outcomePartition)
		return nil
	}
	inputs, err := c.liveInputs(ev)
	if err != nil {
		return err
	}
	if len(inputs) == 0 {
		c.stage.outcomes = append(c.stage.outcomes, outcomeRepeated)
		return nil
	}
	origins := originsOf(inputs)
	if len(inputs) < len(ev.Inputs) {
		c.removedAt = ev.At // which of their documents were dead is unknown
		origins = nil
	}
	var outputs []*handle
	add := func(s *event.SegmentRef, origins []code.RepositoryID) error {
		h, err := c.ensureSegment(ctx, s, origins, true)
		outputs = append(outputs, h)
		return err
	}
	if ev.Output != nil {
		err = add(ev.Output, origins)
	}
	for i := range ev.Outputs {
		sorted := slices.Sorted(slices.Values(ev.Outputs[i].Origins))
		err = cmp.Or(err, add(&ev.Outputs[i].Segment, slices.Compact(sorted)))
	}
	if err != nil {
		return err
	}
	for _, h := range inputs {
		if err := c.removeHolder(h); err != nil {
			return err
		}
	}
	err = c.flush()
	if errors.Is(err, errLost) {
		if c.mayLose, err = c.wasApplied(ctx, outputs, inputs); err != nil {
			return err
		}
		if !c.mayLose {
			return c.refuseMerge(inputs, outputs)
		}
		err = c.flush()
	}
	if err != nil {
		return err
	}
	c.stage.moved = true
	return c.markDoomed(inputs)
}

// originsOf returns the origins of a merge of segments, or nil if some are not known.
func originsOf(inputs []*handle) []code.RepositoryID {
	var all []code.RepositoryID
	for _, h := range inputs {
		if h.origins == nil {
			return nil
		}
		all = append(all, h.origins...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wasApplied reports whether another process has applied a merge that would lose documents
// here. A store that has every segment decides alone, and so does the first one that reads the
// event. A store that lacks a segment cannot: the segment may hold the documents, and may be
// absent because it was merged further and deleted. One of these facts then proves that the
// merge was applied, and the absence of all of them that it was refused:
//
//   - An input is missing from the segment store. The objects of a refused merge stay forever.
//   - The merge has a mark (segmentstore.MergeName). The sweeper deletes objects in the order
//     in which their segments were dropped, and writes the mark before it passes over the
//     object of an input, which a snapshot names or an earlier, refused merge holds.
//
// Every segment that is missing here was live at this merge and dropped by it or later, so the
// process that deleted it had handled the inputs before: each was deleted, or passed over with
// a mark. A mark is deleted after an input that was passed over because of a snapshot, whose
// absence is the proof from then on.
//
// A missing output is no proof. It may be damaged or lost, and the inputs then still have the
// text. Versions before the mark left none for inputs that an earlier merge holds; for these,
// a missing output decides.
//
// The documents of an applied merge are unheld here until the later merge adds them, as in a
// store that is rebuilt from the log now. If the merge were refused here, later merges would not
// find its output, and its inputs would never be replaced.
func (c *change) wasApplied(ctx context.Context, outputs, inputs []*handle) (bool, error) {
	isAbsent := func(h *handle) bool { return h.reader == nil }
	lacksOutput := slices.ContainsFunc(outputs, isAbsent)
	if !lacksOutput && !slices.ContainsFunc(slices.Collect(maps.Values(c.part.bySequence)), isAbsent) {
		return false, nil
	}
	found, err := c.p.hasObject(ctx, segmentstore.MergeName(c.at))
	if err != nil || found {
		return found, err
	}
	for _, h := range inputs {
		held, err := isHeld(c.b, c.at.Partition, h.id)
		if err != nil || held && lacksOutput {
			return held, err
		}
		found, err := c.p.hasObject(ctx, segmentstore.SegmentName(h.id))
		if err != nil || !found {
			return !found, err
		}
	}
	return false, nil
}

// hasObject reports whether the segment store has an object.
func (p *Places) hasObject(ctx context.Context, name string) (bool, error) {
	_, err := p.objects.GetBytes(ctx, name, 0)
	switch {
	case err == nil || errors.Is(err, segmentstore.ErrTooLarge):
		return true, nil
	case errors.Is(err, code.ErrNotFound):
		return false, nil
	}
	return false, projections.ObjectError(err)
}

// liveInputs returns the inputs that are live and will be removed, in the order in which
// they were added. An output with the ID of an input is that input, and stays.
func (c *change) liveInputs(ev *event.SegmentsMerged) ([]*handle, error) {
	var inputs []*handle
	seen := map[segment.ID]bool{}
	for _, s := range ev.Inputs {
		id, err := segment.ParseID(s)
		if err != nil {
			return nil, err
		}
		if h := c.part.byID[id]; h != nil && !seen[id] && !ev.Adds(s) {
			inputs = append(inputs, h)
		}
		seen[id] = true
	}
	slices.SortFunc(inputs, func(a, b *handle) int { return cmp.Compare(a.sequence, b.sequence) })
	return inputs, nil
}

// refuseMerge drops the change. The objects of the inputs and of the outputs are held
// forever, because a rebuild must also refuse the merge.
func (c *change) refuseMerge(inputs, outputs []*handle) error {
	for _, h := range slices.Concat(inputs, outputs) {
		if err := c.b.Set(segmentIDKey(kindHeld, c.at.Partition, h.id), nil); err != nil {
			return err
		}
	}
	c.stage.outcomes = append(c.stage.outcomes, outcomeLost)
	return nil
}

// markDoomed records the objects to delete once no view needs them.
func (c *change) markDoomed(inputs []*handle) error {
	for _, h := range inputs {
		h.doomedRow = doomedKey(c.at, c.doomedCount)
		c.doomedCount++
		if !c.p.deleteObjects.Load() {
			continue
		}
		if err := c.b.Set(h.doomedRow, h.appendDoomed(nil)); err != nil {
			return err
		}
	}
	return nil
}

// isHeld reports whether the object of a segment must be kept.
func isHeld(r store.Reader, partition int32, id segment.ID) (bool, error) {
	_, held, err := r.Read(segmentIDKey(kindHeld, partition, id))
	return held, err
}
