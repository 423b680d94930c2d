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
	"github.com/quarrysearch/quarry/ingest"
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
	// running are the settings in effect, hooks the connections with their secrets,
	// which may change while the settings that refer to them stay.
	running     config.Config
	connections []ingest.Connection
	success     prometheus.Gauge
	time        prometheus.Gauge
}

// newReloader returns the reloader of s, which has opened what it changes.
func newReloader(s *Server) (*reloader, error) {
	r := &reloader{
		s: s, running: *s.o.Config,
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
	var err error
	r.connections, err = connectionsOf(&r.running)
	return r, err
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
	hooks, err := connectionsOf(&next)
	if err != nil {
		return nil, nil, err
	}
	const connections = "connections"
	if !reflect.DeepEqual(hooks, r.connections) && !slices.Contains(changed, connections) {
		changed = append(changed, connections) // a file with a secret has another content
	}
	// The only step that can fail comes first.
	if r.s.receiver != nil {
		if err := r.s.receiver.SetConnections(hooks); err != nil {
			return nil, nil, fmt.Errorf("connections: %w", err)
		}
	}
	r.connections = hooks
	r.running.Reload(&next)
	r.Level.Set(level)
	if r.s.api != nil {
		r.s.api.Reconfigure(limitsOf(&r.running.Limits), connectionKinds(&r.running))
	}
	return changed, restart, nil
}
