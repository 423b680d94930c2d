package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/server"
)

// configFlags are the flags from which a command takes its settings. Those with
// a flag of their own are the ones that people change first; --set reaches all.
type configFlags struct {
	Config string   `placeholder:"FILE" help:"Configuration file, YAML." env:"QUARRY_CONFIG"`
	Data   string   `placeholder:"DIR" help:"Data directory."`
	Set    []string `placeholder:"KEY=VALUE" sep:"none" help:"Set any key of the configuration, such as cache.framesBytes=256MiB."`
}

// load reads file, environment and flags, in rising order of weight.
func (f *configFlags) load(s streams, more ...string) (config.Config, *slog.Logger, error) {
	set := more
	if f.Data != "" {
		set = append(set, "data="+f.Data)
	}
	c, warnings, err := config.Loader{File: f.Config, Environ: s.environ, Set: append(set, f.Set...)}.Load()
	if err != nil {
		return c, nil, err
	}
	logger, err := boot.NewLogger(s.err, c.Logging.Level, c.Logging.Format)
	if err != nil {
		return c, nil, err
	}
	for _, w := range warnings {
		logger.Warn(w)
	}
	return c, logger, nil
}

type serveCommand struct {
	configFlags
	Listen        string   `placeholder:"ADDRESS" help:"Address of the API and the web hooks."`
	MetricsListen string   `placeholder:"ADDRESS" help:"Address of the metrics alone; otherwise they are on the same listener."`
	Role          []string `placeholder:"ROLE,…" help:"ingest, pipeline, query; all by default."`
	GitRoot       []string `placeholder:"DIR" sep:"none" help:"Allow repositories below DIR to be read by path. Again for further ones."`
	PrintConfig   bool     `help:"Print the effective configuration, secrets hidden, and exit."`
}

// Run implements the command.
func (c *serveCommand) Run(ctx context.Context, s streams) error {
	settings, logger, err := c.load(s, c.overrides()...)
	if err != nil {
		return err
	}
	if c.PrintConfig {
		text, err := settings.YAML()
		if err != nil {
			return err
		}
		_, err = s.out.Write(text)
		return err
	}
	return serve(ctx, &settings, logger)
}

// overrides returns the flags in the form of --set.
func (c *serveCommand) overrides() []string {
	var set []string
	add := func(key, value string) {
		if value != "" {
			set = append(set, key+"="+value)
		}
	}
	add("listen", c.Listen)
	add("metricsListen", c.MetricsListen)
	add("roles", strings.Join(c.Role, ","))
	add("git.allowedRoots", strings.Join(c.GitRoot, ","))
	return set
}

func serve(ctx context.Context, c *config.Config, logger *slog.Logger) (err error) {
	boot.ApplyMemoryLimit(int64(c.Runtime.MemoryLimitBytes), c.Runtime.GCPercent)
	build := boot.ReadBuild()
	registry := boot.NewRegistry(build.Version)
	s, err := server.Open(ctx, server.Options{Config: c, Logger: logger, Registerer: registry, Gatherer: registry, Version: build.Version})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	logger.Info("serving", "url", s.URL(), "roles", strings.Join(c.Roles, ","), "log", c.Log.Driver, "data", c.Data, "version", build.Version)
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	logger.Info("stopped")
	return nil
}
