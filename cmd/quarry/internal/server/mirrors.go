package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/mirror"
)

// maxGitObjectBytes bounds what git allocates for one object where memory is plentiful.
const maxGitObjectBytes = 512 << 20

// policyOf returns what git may access.
func policyOf(c *config.Config) (mirror.Policy, error) {
	p := mirror.Policy{Schemes: c.Git.AllowedProtocols, Roots: c.Git.AllowedRoots}
	for _, text := range c.Git.AllowedNetworks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return p, fmt.Errorf("git.allowedNetworks: %w", err)
		}
		p.Networks = append(p.Networks, network)
	}
	return p, nil
}

func openMirrors(ctx context.Context, c *config.Config, policy mirror.Policy, execute mirror.Executor, logger *slog.Logger, reg prometheus.Registerer) (*mirror.Mirrors, error) {
	return mirror.Open(ctx, mirror.Options{
		Execute:        execute,
		Dir:            c.MirrorsDir(),
		Policy:         policy,
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
