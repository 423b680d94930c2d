package server

import (
	"context"
	"errors"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/versions"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections"
)

// OfflineRebuild builds projections while no server runs. It holds the lock of the data
// directory.
type OfflineRebuild struct {
	*versions.Rebuild
	close func() error
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
	open := func() (*mirror.Mirrors, error) {
		return openMirrors(context.Background(), o.Config, s.policy, s.codeHosts, nil, o.Logger, o.Registerer)
	}
	return &OfflineRebuild{versions.NewRebuild(s.versionsOptions(home), open), s.Close}, nil
}

// Close closes the log and unlocks the data directory.
func (r *OfflineRebuild) Close() error { return errors.Join(r.Rebuild.Close(), r.close()) }
