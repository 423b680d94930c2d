package versions

import (
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/replay"
)

// versionsMetrics describe the versions of the projections:
//
//	quarry_projections_replays_total{result}          replays that ended: done, failed, canceled
//	quarry_projections_replaying                      1 while a replay is running
//	quarry_projections_frozen                         1 while the live version shows the past
//	quarry_projections_unstored_documents             documents and refs that a rebuild would lose
//	quarry_projections_store_check_timestamp_seconds  when the check that counted them began
//	quarry_projections_missing_documents              documents that a version of the past lacks
//	quarry_snapshots_loads_total{result}              snapshots from which this process has started (used), or not (skipped)
//	quarry_projections_version_bytes{version}         size of the current, the previous and the damaged version
type versionsMetrics struct {
	replays *prometheus.CounterVec
	loads   *prometheus.CounterVec
	all     []prometheus.Collector
}

func newVersionsMetrics(v *Versions) *versionsMetrics {
	m := &versionsMetrics{replays: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_projections_replays_total",
		Help: "Replays and rollbacks, by result: done, failed or canceled.",
	}, []string{"result"})}
	for _, state := range []replay.State{replay.Done, replay.Failed, replay.Canceled} {
		m.replays.WithLabelValues(string(state))
	}
	m.loads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_snapshots_loads_total", Help: "Snapshots from which this process started because its projections were empty, too old or of another share, by result: used or skipped.",
	}, []string{"result"})
	for _, result := range []string{loadUsed, loadSkipped} {
		m.loads.WithLabelValues(result)
	}
	gauge := func(name, help string, labels prometheus.Labels, read func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "quarry_projections_" + name, Help: help, ConstLabels: labels}, read)
	}
	m.all = []prometheus.Collector{
		m.replays, m.loads,
		gauge("replaying", "1 while a replay builds a version or switches to it.", nil, func() float64 { return boolToFloat(v.replays.isBusy()) }),
		gauge("frozen", "1 while the live version shows a moment of the past and does not follow the log.", nil, func() float64 { return boolToFloat(v.Live().Meta.IsFrozen()) }),
		gauge("unstored_documents", "Documents and refs of the live version that a rebuild would lose because the segment store lacks them. They are stored again or re-indexed.", nil, func() float64 {
			return float64(v.Live().StoreChecker.Unstored().CountAll())
		}),
		gauge("store_check_timestamp_seconds", "Unix time at which the last complete comparison of the live version with the segment store began; 0 if there was none.", nil, func() float64 {
			began, ok := v.Live().StoreChecker.LastBegan()
			if !ok {
				return 0
			}
			return float64(began.UnixNano()) / 1e9
		}),
		gauge("missing_documents", "Documents that the live point-in-time version lacks because neither a segment nor a mirror has them.", nil, func() float64 {
			return float64(v.Live().Meta.Missing.Documents)
		}),
	}
	const help = "Size of the files of a version of the projections: current, previous, or damaged (set aside). Versions share files with each other and with the segment store."
	for version, dir := range map[string]func() (string, error){"current": v.o.Home.Current, "previous": v.o.Home.Previous, "damaged": v.o.Home.AsidePath} {
		m.all = append(m.all, gauge("version_bytes", help, prometheus.Labels{"version": version}, func() float64 { return versionDiskBytes(dir) }))
	}
	return m
}

// versionDiskBytes returns the size of the version in the directory that dir returns, or
// 0 if there is none.
func versionDiskBytes(dir func() (string, error)) float64 {
	path, err := dir()
	if err != nil || path == "" {
		return 0
	}
	n, err := projections.DiskBytes(path)
	if err != nil {
		return 0 // its files change while they are counted
	}
	return float64(n)
}

func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// registerMetrics registers the metrics.
func (v *Versions) registerMetrics() error {
	for _, c := range v.metrics.all {
		if err := v.o.Registerer.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// versionMetrics are the metrics of one version of the projections. Only the metrics of
// the live version are in the registry of the process, because the metrics of all
// versions have the same names.
type versionMetrics struct {
	registry prometheus.Registerer
	mu       struct {
		sync.Mutex
		live       bool
		collectors []prometheus.Collector
	}
}

var _ prometheus.Registerer = (*versionMetrics)(nil)

func newVersionMetrics(to prometheus.Registerer) *versionMetrics {
	return &versionMetrics{registry: to}
}

// Register implements prometheus.Registerer.
func (m *versionMetrics) Register(c prometheus.Collector) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.live {
		if err := m.registry.Register(c); err != nil {
			return err
		}
	}
	m.mu.collectors = append(m.mu.collectors, c)
	return nil
}

// MustRegister implements prometheus.Registerer.
func (m *versionMetrics) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := m.Register(c); err != nil {
			panic(err)
		}
	}
}

// Unregister implements prometheus.Registerer.
func (m *versionMetrics) Unregister(c prometheus.Collector) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.mu.collectors, c)
	if i < 0 {
		return false
	}
	m.mu.collectors = slices.Delete(m.mu.collectors, i, i+1)
	return !m.mu.live || m.registry.Unregister(c)
}

// registerLive registers the metrics in the registry of the process.
func (m *versionMetrics) registerLive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.live = true
	var errs []error
	for _, c := range m.mu.collectors {
		errs = append(errs, m.registry.Register(c))
	}
	return errors.Join(errs...)
}

// unregisterLive removes the metrics from that registry.
func (m *versionMetrics) unregisterLive() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.live = false
	for _, c := range m.mu.collectors {
		m.registry.Unregister(c)
	}
}
