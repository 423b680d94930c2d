package projectiontest

import (
	"context"
	"errors"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Applier applies records on the caller's goroutine, in the same way as a Runner.
type Applier struct {
	Store       *store.Store
	Decoder     *projections.Decoder
	Projections []projections.Projection
}

// Apply applies a record in one batch with its checkpoint, and publishes it. It drops
// records below the checkpoint and skips poison records.
func (a *Applier) Apply(ctx context.Context, rec event.Record) error {
	partition := rec.Position.Partition
	next, err := a.Store.TopicCheckpoint(rec.Position.Topic, partition)
	if err != nil || rec.Position.Offset < next {
		return err
	}
	defer a.Decoder.Forget(partition)
	err = a.apply(ctx, rec, a.Projections)
	if errors.Is(err, projections.ErrPoison) {
		err = a.apply(ctx, rec, nil)
	}
	if err != nil {
		return err
	}
	for _, p := range a.Projections {
		if s, ok := p.(projections.Stateful); ok {
			s.Publish(partition)
		}
	}
	return nil
}

func (a *Applier) apply(ctx context.Context, rec event.Record, to []projections.Projection) (err error) {
	b := a.Store.NewBatch()
	defer func() {
		for _, p := range a.Projections {
			if s, ok := p.(projections.Stateful); ok && err == nil {
				s.Committed(rec.Position.Partition)
			} else if ok {
				s.Discarded(rec.Position.Partition)
			}
		}
	}()
	for _, p := range to {
		if err := p.Apply(ctx, b, rec); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	if err := b.SetTopicCheckpoint(rec.Position.Topic, rec.Position.Partition, rec.Position.Offset+1); err != nil {
		return errors.Join(err, b.Close())
	}
	return b.Commit()
}
