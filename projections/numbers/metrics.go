package numbers

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are:
//
//	quarry_numbers_assigned   numbers given, by kind
type metrics struct {
	reg      prometheus.Registerer
	assigned prometheus.Collector
}

func newMetrics(reg prometheus.Registerer, n *Numbers) (*metrics, error) {
	m := &metrics{reg: reg, assigned: assignedCollector{n}}
	if reg == nil {
		return m, nil
	}
	if err := reg.Register(m.assigned); err != nil {
		return nil, fmt.Errorf("numbers: register metrics: %w", err)
	}
	return m, nil
}

func (m *metrics) unregisterAll() {
	if m.reg != nil {
		m.reg.Unregister(m.assigned)
	}
}

// assignedCollector counts the numbers.
type assignedCollector struct{ n *Numbers }

var assignedDescription = prometheus.NewDesc("quarry_numbers_assigned",
	"Numbers assigned to repositories and connections, including removed ones (at most 16777215 of each kind).", []string{"kind"}, nil)

// Describe implements prometheus.Collector.
func (assignedCollector) Describe(c chan<- *prometheus.Desc) { c <- assignedDescription }

// Collect implements prometheus.Collector.
func (a assignedCollector) Collect(c chan<- prometheus.Metric) {
	a.n.mu.RLock()
	counts := map[string]int{"repository": len(a.n.mu.repositories.ids), "connection": len(a.n.mu.connections.ids)}
	a.n.mu.RUnlock()
	for kind, n := range counts {
		c <- prometheus.MustNewConstMetric(assignedDescription, prometheus.GaugeValue, float64(n), kind)
	}
}
