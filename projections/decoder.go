package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Decoder decodes records for all projections of a Runner. It decodes each record once,
// which saves most for the changes of a first import. Callers share the results and must
// not modify them. It is safe for concurrent use.
type Decoder struct {
	objects segmentstore.Store
	mu      struct {
		sync.Mutex
		// last holds the record being applied in each partition.
		last map[int32]*decodedRecord
	}
}

// decodedRecord is filled by the goroutine that applies the partition.
type decodedRecord struct {
	position event.Position
	ev       event.Event
	changes  []event.Change
	complete bool
}

// NewDecoder returns a Decoder that reads the changes of large manifests from objects.
func NewDecoder(objects segmentstore.Store) *Decoder {
	d := &Decoder{objects: objects}
	d.mu.last = map[int32]*decodedRecord{}
	return d
}

// Event returns the event of rec, or ErrPoison if it cannot be decoded.
func (d *Decoder) Event(rec event.Record) (event.Event, error) {
	last, err := d.decode(rec)
	if err != nil {
		return nil, err
	}
	return last.ev, nil
}

// Changes returns the changes of the RevisionIndexed event in rec, ordered by path, from
// the event itself or from the object that it names. It returns ErrUnavailable if the
// segment store does not respond, ErrPoison if the object is corrupt, and
// code.ErrNotFound if the object does not exist.
func (d *Decoder) Changes(ctx context.Context, rec event.Record) ([]event.Change, error) {
	last, err := d.decode(rec)
	if err != nil {
		return nil, err
	}
	ev, ok := last.ev.(*event.RevisionIndexed)
	if !ok {
		return nil, fmt.Errorf("changes of %s: it is %s", rec.Position, last.ev.EventType())
	}
	if !last.complete {
		if last.changes, err = d.read(ctx, ev); err != nil {
			return nil, fmt.Errorf("changes of %s: %w", rec.Position, err)
		}
		last.complete = true
	}
	return last.changes, nil
}

// Forget drops the cached last record of the partition.
func (d *Decoder) Forget(partition int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.mu.last, partition)
}

func (d *Decoder) decode(rec event.Record) (*decodedRecord, error) {
	partition := rec.Position.Partition
	d.mu.Lock()
	last := d.mu.last[partition]
	d.mu.Unlock()
	if last != nil && last.position == rec.Position {
		return last, nil
	}
	_, ev, err := event.Decode(rec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPoison, err)
	}
	last = &decodedRecord{position: rec.Position, ev: ev}
	d.mu.Lock()
	d.mu.last[partition] = last
	d.mu.Unlock()
	return last, nil
}

func (d *Decoder) read(ctx context.Context, ev *event.RevisionIndexed) ([]event.Change, error) {
	if ev.ChangesObject == "" {
		return ev.Changes, nil
	}
	b, err := d.objects.GetBytes(ctx, ev.ChangesObject, segmentstore.MaxEncodedChangesBytes)
	if err != nil {
		return nil, ObjectError(err)
	}
	changes, err := segmentstore.DecodeChanges(b)
	if errors.Is(err, segmentstore.ErrCorrupt) {
		// Treat an object that was damaged in the store as lost, and one that was written
		// in this form as poison.
		moved, failed := d.objects.Quarantine(ctx, ev.ChangesObject)
		switch {
		case failed != nil:
			return nil, ObjectError(failed)
		case moved:
			return nil, fmt.Errorf("%s: %w", ev.ChangesObject, code.ErrNotFound)
		}
	}
	return changes, ObjectError(err)
}

// ObjectError converts an error about an object: faults of the object become ErrPoison,
// faults of the segment store ErrUnavailable. It returns code.ErrNotFound unchanged.
func ObjectError(err error) error {
	switch {
	case err == nil, errors.Is(err, code.ErrNotFound), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, segmentstore.ErrName), errors.Is(err, segmentstore.ErrTooLarge), errors.Is(err, segmentstore.ErrCorrupt):
		return fmt.Errorf("%w: %w", ErrPoison, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
