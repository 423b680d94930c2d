package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
)

// buildVersion builds the requested version while the live one keeps serving. It returns
// the new version open and caught up with the live one, but not live.
func (v *versions) buildVersion(ctx context.Context, order *replayOrder, progress func(done, total int64)) (*index, error) {
	if err := v.home.Clean(); err != nil {
		return nil, err
	}
	p := &pastRestorer{o: v.o, log: tailer{v.log}, objects: v.objects, mirrors: v.mirrors}
	defer p.close()
	m, heal := newVersionMetrics(v.o.Registerer), v.newHealer()
	var next *index
	built, err := projections.Build(ctx, v.replayOptions(order, p, m, heal, &next, progress))
	if err != nil {
		return nil, err
	}
	next.meta, next.metrics, next.heal = built.Meta, m, heal
	if err := v.alignWithLive(ctx, next); err != nil {
		return nil, errors.Join(err, built.Close(), store.Remove(built.Dir))
	}
	return v.registerVersion(next), nil
}

// replayOptions say how the version is made; next is set when it is open.
func (v *versions) replayOptions(order *replayOrder, p *pastRestorer, m *versionMetrics, heal *healer, next **index, progress func(done, total int64)) projections.ReplayOptions {
	live := v.live.Load() // nil while the server is stopped; only this replay replaces it
	o := projections.ReplayOptions{
		Home: v.home, Log: tailer{v.log}, Objects: v.objects, Until: order.until, Progress: progress, Logger: v.o.Logger,
		Store: store.Options{Cache: v.blocks, Logger: v.o.Logger, Registerer: m, OnDamage: v.noteDamage(heal)},
		Open: func(ctx context.Context, s *store.Store, d *projections.Decoder) (_ []projections.Projection, _ func(), err error) {
			options := v.newIndexOptions(s, m)
			options.rebuilding, options.objects = true, p.objectStore(order.until != nil)
			// A live version that follows notes by itself what is to be deleted.
			options.deletes = order.until == nil && (live == nil || live.meta.IsFrozen())
			if *next, err = openProjections(ctx, options, d); err != nil {
				return nil, nil, err
			}
			return (*next).listProjections(), (*next).close, nil
		},
	}
	if order.target != nil {
		o.Projection, o.Family, o.Source = order.target.Name(), order.target.Family(), live.store
	}
	if order.until != nil {
		o.Settle = func(ctx context.Context, at []projections.Checkpoint) (projections.Missing, error) {
			return p.restoreDocuments(ctx, (*next).places, at)
		}
	} else if v.followsLog() {
		o.Follow = func(ctx context.Context, r *projections.Runner) error {
			return waitFor(ctx, r, live.runner.Checkpoints())
		}
	}
	return o
}

// followsLog reports whether a live version runs that follows the log.
func (v *versions) followsLog() bool {
	live := v.live.Load()
	return live != nil && !live.meta.IsFrozen() && len(live.runner.Checkpoints()) > 0
}

// alignWithLive attaches to a version what follows the log for it, then waits until the live
// version is as far. A record that cannot be applied is then among the dead letters.
func (v *versions) alignWithLive(ctx context.Context, next *index) error {
	o := v.newIndexOptions(next.store, next.metrics)
	if next.meta.IsFrozen() {
		o.deadLetters = nil
	}
	if err := next.openRunner(o); err != nil || next.meta.IsFrozen() || !v.followsLog() {
		return err
	}
	live := v.live.Load()
	here, err := next.readCheckpoints(live.runner.Checkpoints())
	if err != nil {
		return err
	}
	return waitFor(ctx, live.runner, here)
}

// readCheckpoints returns how far the store is in the partitions of others.
func (i *index) readCheckpoints(others []projections.Checkpoint) ([]projections.Checkpoint, error) {
	here := make([]projections.Checkpoint, len(others))
	for n, c := range others {
		next, err := i.store.Checkpoint(c.Partition)
		if err != nil {
			return nil, err
		}
		here[n] = projections.Checkpoint{Partition: c.Partition, Next: next}
	}
	return here, nil
}

// discardVersion removes a version that did not become live; the previous one stays.
func (v *versions) discardVersion(i *index) error {
	i.refCount.release()
	if err := v.closeVersion(i); err != nil {
		return err
	}
	return v.home.Clean()
}

// secondVersionBytes is what a version takes in addition to the projections' own
// memory: tables in memory, not yet flushed.
const secondVersionBytes = 64 << 20

// memoryWarning says that two versions at once may need more memory than the
// process is to have. The estimate for the second is the live heap, most of which
// is the first, and secondVersionBytes; blocks are cached for both together.
func (v *versions) memoryWarning() string {
	limit := int64(v.o.Config.Runtime.MemoryLimitBytes)
	heap := liveHeapBytes()
	estimate := 2*heap + secondVersionBytes
	if limit <= 0 || estimate <= limit {
		return ""
	}
	return fmt.Sprintf("two versions at once may take %d MiB of heap, and runtime.memoryLimitBytes is %d MiB: expect slow answers, or raise it, or replay with the server stopped",
		estimate>>20, limit>>20)
}

// liveHeapBytes is what the last collection left.
func liveHeapBytes() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
