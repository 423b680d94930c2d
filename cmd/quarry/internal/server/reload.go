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

// Reload says how a running server reads its settings again.
type Reload struct {
	// Signals receives a value for each requested reload.
	Signals <-chan os.Signal
	// Load reads and checks the settings, with warnings.
	Load func() (config.Config, []string, error)
	// Level is that of the logger.
	Level *slog.LevelVar
}

// reloader applies changed settings.
type reloader struct {
	s *Server
	Reload
	// running are the settings in effect, connections those with their secrets,
	// which may change while the settings that refer to them stay.
	running     config.Config
	connections codehosts.Connections
	success     prometheus.Gauge
	time        prometheus.Gauge
}

// newReloader returns the reloader of s, which has opened what it changes.
func newReloader(s *Server) *reloader {
	r := &reloader{
		s: s, running: *s.o.Config, connections: s.connections,
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_server_reload_success",
			Help: "1 if the settings were applied at the last SIGHUP, or the start; 0 if they were refused and the old ones stay.",
		}),
		time: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "quarry_server_reload_timestamp_seconds",
			Help: "When settings were last applied, in seconds since 1970.",
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

// Run reloads at each signal, until ctx ends.
func (r *reloader) Run(ctx context.Context) error {
	for {
		select {
		case <-r.Signals: // nil, without Options.Reload: never
			r.reloadSettings()
		case <-ctx.Done():
			return nil
		}
	}
}

// reloadSettings reads the settings, applies all that can change while the server runs, or
// none, and logs the result in one line.
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
		changed = append(changed, setting) // a file with a secret has another content
	}
	apps, err := r.s.codeHosts.OpenInstallations(&next)
	if err != nil {
		return nil, nil, err
	}
	// The only step that changes something and can fail comes first.
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
		r.s.api.Reconfigure(limitsOf(&r.running.Limits), codehosts.Kinds(&r.running))
	}
	return changed, restart, nil
}
