package versions

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/store"
)

// buildVersion builds the requested version while the live one keeps serving. It returns
// the new version, which is open and has caught up with the live one, but is not live.
func (v *Versions) buildVersion(ctx context.Context, order *replayOrder, progress func(done, total int64)) (*Version, error) {
	if err := v.o.Home.Clean(); err != nil {
		return nil, err
	}
	p := &pastRestorer{o: v.o}
	defer p.close()
	m, heal := newVersionMetrics(v.o.Registerer), v.newHealer()
	var next *Version
	built, err := projections.Build(ctx, v.replayOptions(order, p, m, heal, &next, progress))
	if err != nil {
		return nil, err
	}
	next.Meta, next.metrics, next.restorer = built.Meta, m, heal
	if err := v.alignWithLive(ctx, next); err != nil {
		return nil, errors.Join(err, built.Close(), store.Remove(built.Dir))
	}
	next.Runner.Inherit(built.Runner)
	return v.registerVersion(next), nil
}

// replayOptions returns the options for building the version. It sets next when the
// version is open.
func (v *Versions) replayOptions(order *replayOrder, p *pastRestorer, m *versionMetrics, heal *repair.Restorer, next **Version, progress func(done, total int64)) projections.ReplayOptions {
	live := v.Live() // nil while the server is stopped; only this replay can replace it
	o := projections.ReplayOptions{
		Home: v.o.Home, Log: v.o.Log, Objects: v.o.Objects, Until: order.until, Progress: progress, Now: v.o.Now, Logger: v.o.Logger,
		Share: v.o.Share.String(), Holds: holdsOf(v.o.Share),
		Store: store.Options{Cache: v.blocks, Logger: v.o.Logger, Registerer: m, OnDamage: v.noteDamage(heal)},
		Open: func(ctx context.Context, s *store.Store, d *projections.Decoder) (_ []projections.Projection, _ func(), err error) {
			options := v.newVersionOptions(s, m)
			options.rebuilding, options.objects = true, p.objectStore(order.until != nil)
			options.onDamage = heal.NoteDamage
			// If the live version follows the log, it records itself what must be
			// deleted.
			options.deletes = options.deletes && order.until == nil && (live == nil || live.Meta.IsFrozen())
			if *next, err = openProjections(ctx, options, d); err != nil {
				return nil, nil, err
			}
			return (*next).listProjections(), (*next).close, nil
		},
	}
	if order.target != nil {
		o.Projection, o.Family, o.Source = order.target.Name(), order.target.Family(), live.Store
	}
	if order.until != nil {
		o.Settle = func(ctx context.Context, at []projections.Checkpoint) (projections.Missing, error) {
			return p.restoreDocuments(ctx, (*next).Places, at)
		}
	} else if v.followsLog() {
		o.Follow = func(ctx context.Context, r *projections.Runner) error {
			return waitFor(ctx, r, live.Runner.Checkpoints())
		}
	}
	return o
}

// followsLog reports whether a live version that follows the log is running.
func (v *Versions) followsLog() bool {
	live := v.Live()
	return live != nil && !live.Meta.IsFrozen() && len(live.Runner.Checkpoints()) > 0
}

// alignWithLive attaches a runner to a version, then waits until the live version has
// reached the same position. A record that cannot be applied is then among the dead
// letters.
func (v *Versions) alignWithLive(ctx context.Context, next *Version) error {
	o := v.newVersionOptions(next.Store, next.metrics)
	if next.Meta.IsFrozen() {
		o.deadLetters = nil
	}
	if err := next.openRunner(o); err != nil || next.Meta.IsFrozen() || !v.followsLog() {
		return err
	}
	live := v.Live()
	here, err := next.readCheckpoints(live.Runner.Checkpoints())
	if err != nil {
		return err
	}
	return waitFor(ctx, live.Runner, here)
}

// readCheckpoints returns the checkpoints of the store for the partitions of others.
func (i *Version) readCheckpoints(others []projections.Checkpoint) ([]projections.Checkpoint, error) {
	here := make([]projections.Checkpoint, len(others))
	for n, c := range others {
		next, err := i.Store.Checkpoint(c.Partition)
		if err != nil {
			return nil, err
		}
		here[n] = projections.Checkpoint{Partition: c.Partition, Next: next}
	}
	return here, nil
}

// discardVersion removes a version that did not become live. The previous version stays.
func (v *Versions) discardVersion(i *Version) error {
	i.Release()
	if err := v.closeVersion(i); err != nil {
		return err
	}
	return v.o.Home.Clean()
}

// secondVersionBytes is the memory of a version in addition to that of its projections:
// tables in memory that are not flushed yet.
const secondVersionBytes = 64 << 20

// memoryWarning returns a warning if two versions at the same time may need more memory
// than the limit. The second version is estimated as the live heap, most of which belongs
// to the first, plus secondVersionBytes. Both share one block cache.
func memoryWarning(limit int64) string {
	heap := liveHeapBytes()
	estimate := 2*heap + secondVersionBytes
	if limit <= 0 || estimate <= limit {
		return ""
	}
	return fmt.Sprintf("two versions at the same time may need %d MiB of heap, but runtime.memoryLimitBytes is %d MiB: expect slow answers, raise the limit, or replay with the server stopped",
		estimate>>20, limit>>20)
}

// liveHeapBytes returns the heap size after the last garbage collection.
func liveHeapBytes() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
