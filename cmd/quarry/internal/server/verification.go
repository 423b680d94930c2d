package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/verify"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// verificationSource is the CloudEvents source of pushes that repair.
const verificationSource = "/quarry/verify"

// appliedEvery is how often a repair checks whether it has had its effect.
const repairPollInterval = 100 * time.Millisecond

// verifications implements the API's verifications. The mirrors are opened after
// the API.
type serverVerifier struct{ *Server }

var _ api.Verifier = serverVerifier{}

// Verify implements api.Verifier.
func (v serverVerifier) Verify(ctx context.Context, r api.Verification, emit func(*api.VerificationFrame) error) error {
	if at := v.versions.asOf(); at != "" {
		return fmt.Errorf("%w: the projections show a moment of the past, %s; quarry replay --rollback returns to the present", api.ErrUnavailable, at)
	}
	return v.verifier.Verify(ctx, r, emit)
}

// heldView is a view of the live version, which stays open with it.
type verifyView struct {
	*places.View
	index *index
}

// Release implements verify.View.
func (v verifyView) Release() {
	v.View.Release()
	v.index.refCount.release()
}

// acquireView returns what queries see now.
func (s *Server) acquireView() verify.View {
	i := s.versions.acquireLive()
	return verifyView{i.places.Acquire(), i}
}

// newVerifier returns what compares the projections with the mirrors.
func (s *Server) newVerifier() *verify.Verifier {
	return verify.New(verify.Options{
		Repositories: s.listRepositories,
		Acquire:      s.acquireView,
		Fence:        s.waitForLog,
		Mirrors:      s.pipeline.mirrors,
		Unstored:     s.findUnstored,
		Repair:       s.repairRefs,
		Now:          time.Now,
	})
}

// findUnstored returns what a rebuild would lose, after what can be was written again.
func (s *Server) findUnstored(ctx context.Context) (map[code.DocumentKey]bool, map[code.RepositoryID]map[code.Ref]bool, error) {
	i := s.versions.acquireLive()
	defer i.refCount.release()
	left, err := i.keeper.checkStore(ctx, true)
	if left == nil || err != nil {
		return nil, nil, err
	}
	return left.documents, left.changes, nil
}

// listRepositories returns the repositories by name.
func (s *Server) listRepositories() []code.Repository {
	var out []code.Repository
	for _, r := range s.versions.live.Load().catalog.Snapshot().ByName() {
		out = append(out, r.Repository)
	}
	return out
}

// waitForLog waits until queries see everything that the log holds now.
func (s *Server) waitForLog(ctx context.Context) error {
	high, err := s.log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return err
	}
	var last []event.Position
	for partition, next := range high {
		if next > 0 {
			last = append(last, event.Position{Topic: event.TopicEvents, Partition: int32(partition), Offset: next - 1})
		}
	}
	i := s.versions.acquireLive()
	defer i.refCount.release()
	return i.runner.WaitFor(ctx, last...)
}

// repairRefs appends pushes and waits until they have had their effect.
func (s *Server) repairRefs(ctx context.Context, pushes []*event.Push) error {
	now := time.Now().UTC()
	last := map[int32]event.Offset{}
	for _, p := range pushes {
		p.ReceivedAt, p.DeliveryID = now, rand.Text()
		rec, err := event.Encode(event.Envelope{ID: p.DeliveryID, Source: verificationSource, Time: now}, p)
		if err != nil {
			return err
		}
		at, err := s.log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec)
		if err != nil {
			return fmt.Errorf("ask for %s of repository %s: %w", p.Ref, p.Repository, err)
		}
		last[at[0].Partition] = at[0].Offset
	}
	applied := newAppliedTracker(s.log, workerGroup, func() []projections.Checkpoint { return s.versions.live.Load().runner.Checkpoints() })
	ticker := time.NewTicker(repairPollInterval)
	defer ticker.Stop()
	for partition, offset := range last {
		for {
			before, err := applied.appliedOffset(ctx, partition)
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

// Verify compares the projections of a data directory with its mirrors, while no
// server runs. The projections are brought up to date first; with a repair, the
// workers run as well.
func Verify(ctx context.Context, o Options, repositories []string, r api.Verification, emit func(*api.VerificationFrame) error) (err error) {
	c := *o.Config
	c.Roles, c.Listen, c.MetricsListen = []string{rolePipeline, roleQuery}, "127.0.0.1:0", ""
	c.Pipeline.ReconcileInterval, c.Pipeline.MergeInterval = 0, 0
	o.Config = &c
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.runOffline(running, r.Repair) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended, s.Close())
	}()
	select {
	case <-s.versions.live.Load().runner.CaughtUp():
	case err := <-ended:
		ended <- nil
		return errors.Join(err, ctx.Err())
	}
	for _, name := range repositories {
		candidate := code.Repository{Name: name}
		if id, err := strconv.ParseUint(name, 10, 64); err == nil {
			candidate = code.Repository{ID: api.RepositoryWith(s.accounts.numbers, id)}
		}
		known, err := s.repositories.Find(ctx, candidate)
		if err != nil {
			return err
		}
		r.Repositories = append(r.Repositories, known.ID)
	}
	return serverVerifier{s}.Verify(ctx, r, func(f *api.VerificationFrame) error {
		f.Number = s.accounts.numbers.OfRepository(f.Repository)
		return emit(f)
	})
}

// runOffline runs what a verification without a server needs.
func (s *Server) runOffline(ctx context.Context, repair bool) error {
	group := boot.NewGroup(s.o.Logger, s.o.Config.Runtime.DrainTimeout.Std())
	group.Add("projections", s.versions.Run)
	if repair {
		s.pipeline.addActors(group)
	}
	return group.Run(ctx)
}
