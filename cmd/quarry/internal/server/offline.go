package server

import (
	"context"
	"errors"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/versions"
)

// OfflineRebuild builds projections while no server runs. It holds the lock of the data
// directory.
type OfflineRebuild struct {
	*versions.Rebuild
	s *Server
	// mirrors are opened when documents of the past need them.
	mirrors *mirror.Mirrors
}

// OpenRebuild locks the data directory and opens the log. The caller must call Close.
func OpenRebuild(ctx context.Context, o Options) (*OfflineRebuild, error) {
	s := newServer(o)
	for _, step := range []func(context.Context) error{s.openDirectory, s.openStores} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	home, err := projections.OpenHome(o.Config.ProjectionsDir())
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	r := &OfflineRebuild{s: s}
	s.mirrors = r.openMirrors
	r.Rebuild = versions.NewRebuild(s.versionsOptions(home))
	return r, nil
}

// openMirrors opens the mirrors of the data directory once. It returns nil without git.
func (r *OfflineRebuild) openMirrors() *mirror.Mirrors {
	if r.mirrors != nil {
		return r.mirrors
	}
	var err error
	o := r.s.o
	if r.mirrors, err = openMirrors(context.Background(), o.Config, r.s.policy, r.s.codeHosts, nil, o.Logger, o.Registerer); err != nil {
		o.Logger.Warn("the git mirrors cannot be opened; documents that no segment holds stay missing", "error", err)
		return nil
	}
	return r.mirrors
}

// Close closes the mirrors and the log, and unlocks the data directory.
func (r *OfflineRebuild) Close() (err error) {
	if r.mirrors != nil {
		err = r.mirrors.Close()
	}
	return errors.Join(err, r.s.Close())
}
