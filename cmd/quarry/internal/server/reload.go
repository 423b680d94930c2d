package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
)

// Reload describes how a running server reloads its settings.
type Reload struct {
	// Signals receives a value for each requested reload.
	Signals <-chan os.Signal
	// Load reads and checks the settings. It also returns warnings.
	Load func() (config.Config, []string, error)
	// Level is the level of the logger.
	Level *slog.LevelVar
}

// reloader applies changed settings.
type reloader struct {
	s *Server
	Reload
	// running holds the settings in effect. connections holds their connections with
	// secrets: a secret may change while the settings that refer to it stay the same.
	running     config.Config
	connections codehosts.Connections
	success     prometheus.Gauge
	time        prometheus.Gauge
}

// newReloader returns the reloader of s. All parts that it changes must be open.
func newReloader(s *Server) *reloader {
	r := &reloader{
		s: s, running: *s.o.Config, connections: s.connections,
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_server_reload_success",
			Help: "1 if the settings were applied at startup or at the last SIGHUP; 0 if they were rejected and the old settings remain in effect.",
		}),
		time: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_server_reload_timestamp_seconds",
			Help: "Unix time at which settings were last applied.",
		}),
	}
	if s.o.Reload != nil {
		r.Reload = *s.o.Reload
	}
	s.o.Registerer.MustRegister(r.success, r.time)
	r.success.Set(1)
	r.time.Set(float64(boot.Now().Unix()))
	return r
}

// Run reloads the settings at each signal, until ctx ends.
func (r *reloader) Run(ctx context.Context) error {
	for {
		select {
		case <-r.Signals: // nil without Options.Reload, so it blocks
			r.reloadSettings()
		case <-ctx.Done():
			return nil
		}
	}
}

// reloadSettings reads the settings and logs the result in one line. It applies
// everything that can change while the server runs, or nothing if there is an error.
func (r *reloader) reloadSettings() {
	changed, restart, err := r.applySettings()
	if err != nil {
		r.success.Set(0)
		r.s.o.Logger.Error("settings not reloaded: nothing has changed; correct them and send SIGHUP again", "error", err)
		return
	}
	r.success.Set(1)
	r.time.Set(float64(boot.Now().Unix()))
	level := slog.LevelInfo
	if len(restart) > 0 {
		level = slog.LevelWarn
	}
	r.s.o.Logger.Log(context.Background(), level, "settings reloaded",
		"changed", strings.Join(changed, ","), "restart_needed", strings.Join(restart, ","))
}

func (r *reloader) applySettings() (changed, restart []string, err error) {
	next, warnings, err := r.Load()
	if err != nil {
		return nil, nil, err
	}
	for _, w := range warnings {
		r.s.o.Logger.Warn(w)
	}
	changed, restart = r.running.Diff(&next)
	level, err := boot.ParseLevel(next.Logging.Level)
	if err != nil {
		return nil, nil, err
	}
	connections, err := codehosts.ReadConnections(&next)
	if err != nil {
		return nil, nil, err
	}
	const setting = "connections"
	if !reflect.DeepEqual(connections, r.connections) && !slices.Contains(changed, setting) {
		changed = append(changed, setting) // the content of a secret file has changed
	}
	apps, err := r.s.codeHosts.OpenInstallations(&next)
	if err != nil {
		return nil, nil, err
	}
	// This is the only step that changes something and can fail, so it comes first.
	if r.s.receiver != nil {
		if err := r.s.receiver.SetConnections(connections.Hooked); err != nil {
			return nil, nil, fmt.Errorf("connections: %w", err)
		}
	}
	r.connections = connections
	r.running.Reload(&next)
	r.s.codeHosts.Replace(&r.running, apps)
	r.Level.Set(level)
	r.s.setConnections(&r.running, connections.Discovered)
	r.s.setPermissions(&r.running)
	if r.s.api != nil {
		r.s.api.Reconfigure(limitsOf(&r.running.Limits), r.running.Logging.Requests, codehosts.Kinds(&r.running))
	}
	return changed, restart, nil
}
