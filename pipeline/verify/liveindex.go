package verify

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// verificationSource is the CloudEvents source of the pushes of a repair.
const verificationSource = "/quarry/verify"

// repairPollInterval is the interval at which a repair checks whether it has taken
// effect.
const repairPollInterval = 100 * time.Millisecond

// liveIndex is the live version of the projections as a Verifier uses it.
type liveIndex struct {
	versions *versions.Versions
	log      eventlog.Log
	has      func(code.RepositoryID) bool
}

// NewOptions returns the options of a Verifier that compares those repositories of the live
// version that has selects, and repairs by appending pushes to log. The caller sets Mirror, Holds
// and RequestMirror.
func NewOptions(v *versions.Versions, log eventlog.Log, has func(code.RepositoryID) bool) Options {
	x := &liveIndex{versions: v, log: log, has: has}
	return Options{
		Repositories: x.listRepositories, Acquire: x.acquireView, Fence: x.waitForLog,
		Unstored: x.findUnstored, Repair: x.repairRefs, Now: time.Now,
	}
}

// liveView is a view of the live version. It keeps the version open.
type liveView struct {
	*places.View
	index *versions.Version
}

// Release implements View.
func (v liveView) Release() {
	v.View.Release()
	v.index.Release()
}

// acquireView returns the view that queries currently see.
func (x *liveIndex) acquireView() View {
	i := x.versions.Acquire()
	return liveView{i.Places.Acquire(), i}
}

// findUnstored rewrites objects that the segment store lacks, and returns what a rebuild
// would still lose.
func (x *liveIndex) findUnstored(ctx context.Context) (map[code.DocumentKey]bool, map[code.RepositoryID]map[code.Ref]bool, error) {
	i := x.versions.Acquire()
	defer i.Release()
	left, err := i.StoreChecker.Check(ctx, true)
	if left == nil || err != nil {
		return nil, nil, err
	}
	return left.Documents, left.Changes, nil
}

// listRepositories returns the repositories, sorted by name.
func (x *liveIndex) listRepositories() []code.Repository {
	var out []code.Repository
	for _, r := range x.versions.Live().Catalog.Snapshot().ByName() {
		if x.has(r.ID) {
			out = append(out, r.Repository)
		}
	}
	return out
}

// waitForLog waits until queries see everything that the log holds now.
func (x *liveIndex) waitForLog(ctx context.Context) error {
	i := x.versions.Acquire()
	defer i.Release()
	return x.versions.WaitForLog(ctx, i)
}

// repairRefs appends pushes and waits until they have taken effect.
func (x *liveIndex) repairRefs(ctx context.Context, pushes []*event.Push) error {
	now := time.Now().UTC()
	last := map[int32]event.Offset{}
	for _, p := range pushes {
		p.ReceivedAt, p.DeliveryID = now, rand.Text()
		rec, err := event.Encode(event.Envelope{ID: p.DeliveryID, Source: verificationSource, Time: now}, p)
		if err != nil {
			return err
		}
		at, err := x.log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec)
		if err != nil {
			return fmt.Errorf("ask for %s of repository %s: %w", p.Ref, p.Repository, err)
		}
		last[at[0].Partition] = at[0].Offset
	}
	applied := projections.NewFence(x.log, worker.DefaultGroup, func() []projections.Checkpoint { return x.versions.Live().Runner.Checkpoints() })
	ticker := time.NewTicker(repairPollInterval)
	defer ticker.Stop()
	for partition, offset := range last {
		for {
			before, err := applied.AppliedOffset(ctx, partition)
			if err != nil {
				return err
			}
			if before > offset {
				break
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}
