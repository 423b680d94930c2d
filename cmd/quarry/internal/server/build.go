package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
)

// build makes the version that was ordered beside the live one, which goes on. It
// returns it open, as far as the live one is, but not live.
func (v *versions) build(ctx context.Context, order *replay, progress func(done, total int64)) (*index, error) {
	if err := v.home.Clean(); err != nil {
		return nil, err
	}
	p := &past{o: v.o, log: tailer{v.log}, objects: v.objects, mirrors: v.mirrors}
	defer p.close()
	m, heal := newVersionMetrics(v.o.Registerer), v.newHealer()
	var next *index
	built, err := projections.Build(ctx, v.replayOptions(order, p, m, heal, &next, progress))
	if err != nil {
		return nil, err
	}
	next.meta, next.metrics, next.heal = built.Meta, m, heal
	if err := v.join(ctx, next); err != nil {
		return nil, errors.Join(err, built.Close(), store.Remove(built.Dir))
	}
	return v.added(next), nil
}

// replayOptions say how the version is made; next is set when it is open.
func (v *versions) replayOptions(order *replay, p *past, m *versionMetrics, heal *healer, next **index, progress func(done, total int64)) projections.ReplayOptions {
	live := v.live.Load() // nil while the server is stopped; only this replay replaces it
	o := projections.ReplayOptions{
		Home: v.home, Log: tailer{v.log}, Objects: v.objects, Until: order.until, Progress: progress, Logger: v.o.Logger,
		Store: store.Options{Cache: v.blocks, Logger: v.o.Logger, Registerer: m, OnDamage: v.noteDamage(heal)},
		Open: func(ctx context.Context, s *store.Store, d *projections.Decoder) (_ []projections.Projection, _ func(), err error) {
			options := v.options(s, m)
			options.rebuilding, options.objects = true, p.store(order.until != nil)
			// A live version that follows notes by itself what is to be deleted.
			options.deletes = order.until == nil && (live == nil || live.meta.Frozen())
			if *next, err = openProjections(ctx, options, d); err != nil {
				return nil, nil, err
			}
			return (*next).projections(), (*next).close, nil
		},
	}
	if order.target != nil {
		o.Projection, o.Family, o.Source = order.target.Name(), order.target.Family(), live.store
	}
	if order.until != nil {
		o.Settle = func(ctx context.Context, at []projections.Checkpoint) (projections.Missing, error) {
			return p.settle(ctx, (*next).places, at)
		}
	} else if v.follows() {
		o.Follow = func(ctx context.Context, r *projections.Runner) error {
			return waitFor(ctx, r, live.runner.Checkpoints())
		}
	}
	return o
}

// follows reports whether a live version runs that follows the log.
func (v *versions) follows() bool {
	live := v.live.Load()
	return live != nil && !live.meta.Frozen() && len(live.runner.Checkpoints()) > 0
}

// join gives a version what follows the log for it, and lets the live one come as
// far as it is: a record that cannot be applied is then in the dead letters.
func (v *versions) join(ctx context.Context, next *index) error {
	o := v.options(next.store, next.metrics)
	if next.meta.Frozen() {
		o.dead = nil
	}
	if err := next.follows(o); err != nil || next.meta.Frozen() || !v.follows() {
		return err
	}
	live := v.live.Load()
	here, err := next.checkpoints(live.runner.Checkpoints())
	if err != nil {
		return err
	}
	return waitFor(ctx, live.runner, here)
}

// checkpoints returns how far the store is in the partitions of others.
func (i *index) checkpoints(others []projections.Checkpoint) ([]projections.Checkpoint, error) {
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

// discard removes a version that did not become live; the previous one stays.
func (v *versions) discard(i *index) error {
	i.use.leave()
	if err := v.closeVersion(i); err != nil {
		return err
	}
	return v.home.Clean()
}

// secondVersionBytes is what a version takes beside the projections' own memory:
// tables in memory, not yet flushed.
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
