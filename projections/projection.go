package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Errors of a projection, which decide what happens to a record.
var (
	// ErrPoison says that a record can never be applied, whenever it is tried: it
	// goes to the dead letters at once.
	ErrPoison = errors.New("record cannot be applied")
	// ErrUnavailable says that something outside does not answer: the partition
	// waits and tries again for as long as it takes.
	ErrUnavailable = errors.New("store does not answer")
	// ErrSchema says that rows in the store were written by another version of a
	// projection: it must be rebuilt (Replay).
	ErrSchema = errors.New("projections must be rebuilt")
)

// Projection turns records into rows. Its rows are a function of the records of
// each partition, in order; see the invariants of the package.
type Projection interface {
	// Name names the projection in the store and in logs: a lower-case word.
	Name() string
	// SchemaVersion is the version of its rows, from 1.
	SchemaVersion() int
	// Apply adds the effect of rec to b. It ignores records of other projections.
	// Reads of b see the store before rec. Apply is called for the records of a
	// partition one after the other, and for different partitions at the same time.
	// It keeps neither b nor rec.
	//
	// ErrPoison and ErrUnavailable say what kind of failure an error is; any other
	// is retried a few times and then counts as ErrPoison.
	Apply(ctx context.Context, b *store.Batch, rec event.Record) error
}

// Stateful is a Projection that keeps in memory what its readers need. The Runner
// notifies it of the result of each batch.
type Stateful interface {
	Projection
	// Committed says that the batch of the last Apply of the partition is in the
	// store.
	Committed(partition int32)
	// Discarded says that it never will be.
	Discarded(partition int32)
	// Publish makes readers see everything committed. It is called once for a
	// group of records, on the goroutine that applies the partition.
	Publish(partition int32)
}

// Owner is a Projection that owns all rows of one family: it can be rebuilt
// separately.
type Owner interface {
	Projection
	// Family is the family of its rows.
	Family() store.Family
}

// CheckSchema returns ErrSchema if the store holds rows that the projections
// would not write, and stamps a new store with their versions.
func CheckSchema(s *store.Store, projections []Projection) error {
	stored := 0
	var changed error
	for _, p := range projections {
		version, err := s.Schema(p.Name())
		if err != nil {
			return err
		}
		if version != 0 {
			stored++
		}
		if version != p.SchemaVersion() && changed == nil {
			changed = fmt.Errorf("projections: %s has rows of version %d, this program writes %d; run quarry replay: %w",
				p.Name(), version, p.SchemaVersion(), ErrSchema)
		}
	}
	if stored > 0 {
		return changed
	}
	b := s.NewBatch()
	for _, p := range projections {
		if err := b.SetSchema(p.Name(), p.SchemaVersion()); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return b.Commit()
}
