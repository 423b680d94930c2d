package versions

import (
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

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
