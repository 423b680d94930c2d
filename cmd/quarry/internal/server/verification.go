package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/gitreads"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/verify"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// serverVerifier implements api.Verifier. It looks up the mirrors at each call, because
// they are opened after the API.
type serverVerifier struct{ *Server }

var _ api.Verifier = serverVerifier{}

// newVerifier returns the verifier of this process, with its mirrors or those of git.peers.
func (s *Server) newVerifier() *verify.Verifier {
	o := verify.NewOptions(s.versions, s.log, func(id code.RepositoryID) bool {
		return s.share.IsAll() || s.share.Has(eventlog.PartitionOf(event.RecordKey(id), s.partitions))
	})
	if s.pipeline != nil {
		o.Holds, o.RequestMirror = s.holdsRepository, s.RequestMirror
		o.Mirror = func(_ context.Context, id code.RepositoryID) (verify.Mirror, error) {
			return s.pipeline.mirrors.Mirror(id), nil
		}
		return verify.New(o)
	}
	o.Holds = func(context.Context, code.RepositoryID) bool { return true } // one of the peers does
	o.RequestMirror = func(context.Context, code.RepositoryID) bool { return false }
	o.Mirror = func(ctx context.Context, id code.RepositoryID) (verify.Mirror, error) {
		if s.gitPeers == nil {
			return nil, fmt.Errorf("%w: this process has no mirrors; set git.peers", verify.ErrElsewhere)
		}
		return gitreads.OpenRemote(ctx, s.gitPeers.Mirrors(), id)
	}
	return verify.New(o)
}

// Verify implements api.Verifier.
func (v serverVerifier) Verify(ctx context.Context, r verification.Request, emit func(*verification.Finding) error) error {
	if at := v.versions.AsOf(); at != "" {
		return fmt.Errorf("%w: the projections show a moment of the past, %s; quarry replay --rollback returns to the present",
			failure.ErrUnavailable, at)
	}
	return v.verifier.Verify(ctx, r, emit)
}

// holdsRepository reports whether this process handles the events of a repository. Without
// brokers it handles all, also before its worker has begun.
func (s *Server) holdsRepository(ctx context.Context, id code.RepositoryID) bool {
	_, held := s.handledBelow(ctx, id)
	return held || s.o.Config.Log.Driver == "embedded"
}

// Verify compares the projections of a data directory with its mirrors while no server
// runs. It first brings the projections up to date. With a repair, the workers run as
// well.
func Verify(ctx context.Context, o Options, repositories []string, r verification.Request, emit func(*wire.VerificationFrame) error) (err error) {
	c := *o.Config
	c.Roles, c.Listen, c.MetricsListen = []string{config.RolePipeline, config.RoleQuery}, "127.0.0.1:0", ""
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
	case <-s.versions.Live().Runner.CaughtUp():
	case err := <-ended:
		ended <- nil
		return errors.Join(err, ctx.Err())
	}
	for _, name := range repositories {
		candidate := code.Repository{Name: name}
		if id, err := strconv.ParseUint(name, 10, 64); err == nil {
			candidate = code.Repository{ID: api.RepositoryWith(s.accounts.Numbers, id)}
		}
		known, err := s.repositories.Find(ctx, candidate)
		if err != nil {
			return err
		}
		r.Repositories = append(r.Repositories, known.ID)
	}
	return serverVerifier{s}.Verify(ctx, r, func(f *verification.Finding) error {
		return emit(api.NewVerificationFrame(f, s.accounts.Numbers.OfRepository(f.Repository)))
	})
}

// runOffline runs the parts that a verification without a server needs.
func (s *Server) runOffline(ctx context.Context, repair bool) error {
	group := boot.NewGroup(s.o.Logger, s.o.Config.Runtime.DrainTimeout.Std())
	group.Add("projections", s.versions.Run)
	if repair {
		s.pipeline.addActors(group)
	}
	return group.Run(ctx)
}
