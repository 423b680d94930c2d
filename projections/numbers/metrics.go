package numbers

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/internal/registration"
)

// newMetrics registers quarry_numbers_assigned, the numbers given, by kind.
func newMetrics(reg prometheus.Registerer, n *Numbers) *registration.Group {
	group := registration.NewGroup(reg)
	group.MustRegister(assignedCollector{n})
	return group
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
