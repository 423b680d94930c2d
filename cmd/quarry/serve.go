package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/permissions"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/server"
	"github.com/quarrysearch/quarry/projections/repair"
)

// configFlags holds the flags that change settings. The settings that people change first
// have their own flags; --set changes any setting.
type configFlags struct {
	Config string   `group:"configuration" placeholder:"FILE" complete:"path" help:"Configuration file (YAML)." env:"QUARRY_CONFIG"`
	Data   string   `group:"configuration" placeholder:"DIR" complete:"path" help:"Data directory. The default is quarry-data ($QUARRY_DATA)."`
	Set    []string `group:"configuration" placeholder:"KEY=VALUE" sep:"none" help:"Set a key of the configuration, such as cache.framesBytes=256MiB. May be repeated."`
}

// newLoader returns a loader that reads the file, the environment and the flags, in
// increasing order of precedence.
func (f *configFlags) newLoader(s streams, more ...string) config.Loader {
	set := more
	if f.Data != "" {
		set = append(set, "data="+f.Data)
	}
	return config.Loader{File: f.Config, Environ: s.environ, Set: append(set, f.Set...)}
}

// readSettings reads the settings. Commands that call it write to the data directory, so
// every file that they create from here on is private.
func (f *configFlags) readSettings(s streams, more ...string) (config.Config, *slog.Logger, error) {
	permissions.RestrictUmask()
	return loadSettings(s, f.newLoader(s, more...))
}

// loadSettings reads the settings, logs their warnings, and returns the logger
// that they configure.
func loadSettings(s streams, l config.Loader) (config.Config, *slog.Logger, error) {
	return loadSettingsAt(s, l, new(slog.LevelVar))
}

// loadSettingsAt is loadSettings with a logger whose level can be changed later.
func loadSettingsAt(s streams, l config.Loader, level *slog.LevelVar) (config.Config, *slog.Logger, error) {
	c, warnings, err := l.Load()
	if err != nil {
		return c, nil, err
	}
	set, err := boot.ParseLevel(c.Logging.Level)
	if err != nil {
		return c, nil, err
	}
	level.Set(set)
	logger, err := boot.NewLogger(s.err, level, c.Logging.Format)
	if err != nil {
		return c, nil, err
	}
	for _, w := range warnings {
		logger.Warn(w)
	}
	fitMemory(&c, l.Environ)
	return c, logger, nil
}

type serveCommand struct {
	configFlags
	Listen        string   `placeholder:"ADDRESS" help:"Address of the API, the web UI and the webhooks. The default is 127.0.0.1:7070."`
	Ctags         string   `placeholder:"PATH" complete:"path" help:"Absolute path of universal-ctags, for symbols in languages that Quarry does not support itself."`
	MetricsListen string   `placeholder:"ADDRESS" help:"Address of the operators' listener, which serves the metrics: HOST:PORT, auto, main or none. The default, auto, is a loopback address at the next port: 127.0.0.1:7071."`
	Role          []string `placeholder:"ROLE" complete:"ingest,pipeline,query" help:"Roles of this process: ingest, pipeline, query. The default is all of them."`
	GitRoot       []string `placeholder:"DIR" sep:"none" complete:"path" help:"Allow repositories below DIR to be read by their paths. May be repeated."`
	PrintConfig   bool     `help:"Print the configuration in effect and exit. Secrets are hidden and may be missing."`
}

// Help implements kong.HelpProvider.
func (*serveCommand) Help() string {
	return `Runs until it is interrupted: it receives webhooks, indexes repositories, and serves the API and the web UI. No configuration is required; docs/configuration.md lists the settings. Log messages go to standard error.

Examples:

	quarry serve --git-root /srv/git
	quarry serve --config quarry.yaml --data /var/lib/quarry
	quarry serve --print-config

SIGHUP reloads the configuration; docs/configuration.md marks the settings that take effect. Other changes require a restart, which is logged.

SIGTERM and SIGINT stop it. If a load balancer probes GET /readyz, SIGTERM makes it not ready for runtime.shutdownDelay first. A second signal ends it immediately.

Exit status: 0 after SIGINT or SIGTERM, 1 if it cannot start or fails.`
}

// Run implements the command.
func (c *serveCommand) Run(ctx context.Context, s streams) error {
	if c.PrintConfig {
		return c.printConfig(s)
	}
	lines := boot.NewLogWriter(s.err)
	defer lines.Flush()
	s.err = lines
	reload := &server.Reload{Signals: boot.Hangups(), Level: new(slog.LevelVar)}
	permissions.RestrictUmask()
	loader := c.newLoader(s, c.flagOverrides()...)
	reload.Load = func() (config.Config, []string, error) {
		c, warnings, err := loader.Load()
		fitMemory(&c, loader.Environ)
		return c, warnings, err
	}
	settings, logger, err := loadSettingsAt(s, loader, reload.Level)
	if err != nil {
		return err
	}
	return runServer(ctx, &settings, logger, reload)
}

// printConfig prints the settings. It does not need the secrets.
func (c *serveCommand) printConfig(s streams) error {
	loader := c.newLoader(s, c.flagOverrides()...)
	loader.WithoutSecrets = true
	settings, _, err := loadSettings(s, loader)
	if err != nil {
		return err
	}
	text, err := settings.YAML()
	if err != nil {
		return err
	}
	_, err = s.out.Write(text)
	return err
}

// flagOverrides returns the flags in the form of --set.
func (c *serveCommand) flagOverrides() []string {
	var set []string
	add := func(key, value string) {
		if value != "" {
			set = append(set, key+"="+value)
		}
	}
	add("listen", c.Listen)
	add("metricsListen", c.MetricsListen)
	add("pipeline.ctags", c.Ctags)
	add("roles", strings.Join(c.Role, ","))
	add("git.allowedRoots", strings.Join(c.GitRoot, ","))
	return set
}

// warnOfMissingRoots logs a warning for each allowed directory that is none. It may appear
// later, such as a mount, so this is no error.
func warnOfMissingRoots(roots []string, logger *slog.Logger) {
	for _, root := range roots {
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			logger.Warn("an allowed directory does not exist; check git.allowedRoots and --git-root", "path", root)
		}
	}
}

// maxRebuilds bounds how often a process restarts its server to rebuild damaged rows. If
// more are needed, the disk or the memory is failing.
const maxRebuilds = 3

// runServer runs a server until ctx ends or it fails.
func runServer(ctx context.Context, c *config.Config, logger *slog.Logger, reload *server.Reload) (err error) {
	limit := memoryLimit(c, os.Environ())
	logger.Info("memory limits", c.MemoryAttributes(limit)...)
	if warning := c.CheckPlan(limit); warning != "" {
		logger.Warn(warning)
	}
	warnOfMissingRoots(c.Git.AllowedRoots, logger)
	boot.ApplyMemoryLimit(int64(c.Runtime.MemoryLimitBytes), c.Runtime.GCPercent)
	for rebuilds := 0; ; rebuilds++ {
		err := runServerOnce(ctx, c, logger, reload)
		if !errors.Is(err, repair.ErrStartAgain) || rebuilds == maxRebuilds || ctx.Err() != nil {
			return err
		}
		logger.Error("restarting to rebuild damaged rows", "error", err)
	}
}

func runServerOnce(ctx context.Context, c *config.Config, logger *slog.Logger, reload *server.Reload) error {
	build := boot.ReadBuild()
	registry := boot.NewRegistry(build.Version)
	s, err := server.Open(ctx, server.Options{Config: c, Logger: logger, Registerer: registry, Gatherer: registry, Version: build.Version,
		Reload: reload})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	logger.Info("serving", "url", s.URL(), "metrics_url", s.MetricsURL(), "roles", strings.Join(c.Roles, ","), "log", c.Log.Driver, "data",
		c.Data, "version", build.Version)
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	logger.Info("stopped")
	return nil
}
