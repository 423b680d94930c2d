package catalog

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are:
//
//	quarry_catalog_repositories       registered repositories
//	quarry_catalog_collisions_total   events refused for another identity under a known ID
type metrics struct {
	reg          prometheus.Registerer
	repositories prometheus.GaugeFunc
	collisions   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, c *Catalog) (*metrics, error) {
	m := &metrics{
		reg: reg,
		repositories: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "quarry_catalog_repositories", Help: "Registered repositories.",
		}, func() float64 { return float64(c.Snapshot().Len()) }),
		collisions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quarry_catalog_collisions_total", Help: "Events refused because their repository's ID belongs to another repository.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.repositories, m.collisions} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("catalog: register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) unregisterAll() {
	if m.reg != nil {
		m.reg.Unregister(m.repositories)
		m.reg.Unregister(m.collisions)
	}
}
