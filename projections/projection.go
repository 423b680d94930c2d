package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Errors of a projection. They determine how a record is handled.
var (
	// ErrPoison reports that a record can never be applied. It goes to the dead letters
	// immediately.
	ErrPoison = errors.New("record cannot be applied")
	// ErrUnavailable reports that an external store does not respond. The partition waits
	// and retries indefinitely.
	ErrUnavailable = errors.New("store does not answer")
	// ErrSchema reports that another version of a projection wrote the rows in the store,
	// which must be rebuilt (Replay).
	ErrSchema = errors.New("projections must be rebuilt")
)

// Projection turns records into rows. The rows depend only on the records of each
// partition, in order; see the invariants of the package.
type Projection interface {
	// Name returns the name of the projection in the store and in logs, a lower-case
	// word.
	Name() string
	// SchemaVersion returns the version of its rows, from 1.
	SchemaVersion() int
	// Apply adds the effect of rec to b. It ignores records of other projections. Reads
	// through b see the store before rec. Apply is called sequentially for the records of
	// one partition, and concurrently for different partitions. It must not retain b or
	// rec.
	//
	// The errors ErrPoison and ErrUnavailable indicate the kind of failure. After any
	// other error, the record is retried a few times and then treated as poison.
	Apply(ctx context.Context, b *store.Batch, rec event.Record) error
}

// Stateful is a Projection that keeps data for its readers in memory. The Runner notifies
// it of the result of each batch.
type Stateful interface {
	Projection
	// Committed reports that the batch of the partition's last Apply was committed.
	Committed(partition int32)
	// Discarded reports that the batch was discarded.
	Discarded(partition int32)
	// Publish makes all committed changes visible to readers. It is called once for a
	// group of records, on the goroutine that applies the partition.
	Publish(partition int32)
}

// Owner is a Projection that owns all rows of one family, so that it can be rebuilt
// separately.
type Owner interface {
	Projection
	// Family returns the family of its rows.
	Family() store.Family
}

// CheckSchema returns ErrSchema if the store contains rows in another format than that of
// the projections. It writes their versions to a new store.
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
