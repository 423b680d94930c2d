package server

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/pipeline/mirror"
)

// maxGitObjectBytes bounds the memory that git allocates for one object, even if more
// memory is available.
const maxGitObjectBytes = 512 << 20

func openMirrors(ctx context.Context, c *config.Config, policy mirror.Policy, hosts *codehosts.Hosts, execute mirror.Executor, logger *slog.Logger, reg prometheus.Registerer) (*mirror.Mirrors, error) {
	return mirror.Open(ctx, mirror.Options{
		Execute:        execute,
		Dir:            c.MirrorsDir(),
		Policy:         policy,
		Access:         hosts.Access,
		FetchTimeout:   c.Git.FetchTimeout.Std(),
		MaxMirrorBytes: int64(c.Git.MaxMirrorBytes),
		MaxRefs:        c.Pipeline.MaxRefs,
		CollectAfter:   c.Git.CollectAfter.Std(),
		MaxObjectBytes: min(c.PlannedBytes()/4, maxGitObjectBytes),
		PackThreads:    c.Pipeline.Builders,
		IdleReaders:    c.Pipeline.Concurrency,
		Logger:         logger,
		Registerer:     reg,
	})
}
