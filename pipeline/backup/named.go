package backup

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// objectScan finds the objects that the records of a log name. Its memory grows with the
// number of existing objects and of objects that are missing at one time.
type objectScan struct {
	present map[string]bool // objects of the segment store; true if a record names the object
	// keepAll is set if a record cannot be read, because that record may name any object.
	keepAll bool
	// missing holds objects that the store lacks but a live record names. The value is
	// the repository whose removal makes the object unnecessary, or 0 for segments, which
	// a merge makes unnecessary.
	missing map[string]code.RepositoryID
}

// scanLog reads all event records below the ends. It returns the number of records.
func (n *objectScan) scanLog(ctx context.Context, log eventlog.Log, ends []event.Offset) (records int64, err error) {
	for partition, end := range ends {
		read, err := n.readPartition(ctx, log, int32(partition), end)
		if err != nil {
			return 0, fmt.Errorf("read partition %d of the log: %w", partition, err)
		}
		records += read
	}
	return records, nil
}

func (n *objectScan) readPartition(ctx context.Context, log eventlog.Log, partition int32, end event.Offset) (records int64, err error) {
	for rec, err := range event.ReadRange(ctx, log, event.TopicEvents, partition, 0, end) {
		if err != nil {
			return records, err
		}
		records++
		n.applyRecord(rec)
	}
	return records, nil
}

func (n *objectScan) applyRecord(rec event.Record) {
	switch event.TypeOf(rec) {
	case event.TypeRevisionIndexed, event.TypeSegmentsMerged, event.TypeRepositoryRemoved, event.TypeScipUploaded, event.TypeScipDeleted:
	case event.TypePush, event.TypeRepositoryRegistered, event.TypeRepositoryChanged, event.TypeDelivery, event.TypePushesHandled, event.TypeErasureRequested,
		event.TypeSubmodulesListed, event.TypePinsChanged:
		return // most records name no object
	}
	_, ev, err := event.Decode(rec)
	if err != nil {
		n.keepAll = true
		return
	}
	switch e := ev.(type) {
	case *event.RevisionIndexed:
		for _, s := range e.Segments {
			n.markNamed(segmentName(s.ID), 0)
		}
		if e.ChangesObject != "" {
			n.markNamed(e.ChangesObject, e.Repository)
		}
	case *event.SegmentsMerged:
		for _, s := range e.AllOutputs() {
			n.markNamed(segmentName(s.ID), 0)
		}
		for _, id := range e.Inputs {
			if !e.Adds(id) {
				delete(n.missing, segmentName(id))
			}
		}
	case *event.ScipUploaded: // a missing one was replaced by a later upload
		if _, ok := n.present[e.Object]; ok {
			n.present[e.Object] = true
		}
	case *event.ScipDeleted:
		if _, ok := n.present[e.Object]; ok {
			n.present[e.Object] = false
		}
	case *event.RepositoryRemoved:
		maps.DeleteFunc(n.missing, func(_ string, of code.RepositoryID) bool { return of == e.Repository })
	}
}

func segmentName(id string) string { return "segment-" + id }

func (n *objectScan) markNamed(object string, of code.RepositoryID) {
	if _, ok := n.present[object]; ok {
		n.present[object] = true
	} else if segmentstore.ValidateName(object) == nil {
		n.missing[object] = of
	}
}

// listNamed returns the names of the objects to back up, in sorted order.
func (n *objectScan) listNamed() []string {
	var out []string
	for name, named := range n.present {
		if named || n.keepAll || segmentstore.IsMergeName(name) { // a rebuild looks for the mark of a merge
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
