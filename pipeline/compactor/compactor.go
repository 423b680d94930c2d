package compactor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Compactor merges segments of the partitions that its group assigns to it.
type Compactor struct {
	o       Options
	metrics *metrics
	merger  *merger
}

// New returns a Compactor. Run validates o.
func New(o Options) *Compactor {
	o.ensureDefaults()
	return &Compactor{o: o, metrics: newMetrics(o.Registerer), merger: newMerger(o)}
}

// Run merges until ctx ends, and then returns nil, or until the log is closed or refuses
// the group. A running merge is abandoned. Run must be called only once.
func (c *Compactor) Run(ctx context.Context) error {
	if err := c.o.Validate(); err != nil {
		return err
	}
	if err := clearTemp(c.o.TempDir); err != nil {
		return fmt.Errorf("compactor: temporary directory: %w", err)
	}
	err := c.o.Log.Join(ctx, c.o.Group, c.o.Topic, c.followPartition)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("compactor: %w", err)
}

// tempPattern matches the temporary directories of merges.
const tempPattern = "merge-*"

// clearTemp creates the directory and removes the temporary directories that a crashed
// process left.
func clearTemp(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	leftovers, err := filepath.Glob(filepath.Join(dir, tempPattern))
	if err != nil {
		return err
	}
	for _, path := range leftovers {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}
