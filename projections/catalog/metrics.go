package catalog

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/projections/internal/registration"
)

// metrics are:
//
//	quarry_catalog_repositories       registered repositories
//	quarry_catalog_collisions_total   events refused for another identity under a known ID
type metrics struct {
	group      *registration.Group
	collisions prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, c *Catalog) *metrics {
	group := registration.NewGroup(reg)
	auto := promauto.With(group)
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_catalog_repositories", Help: "Registered repositories.",
	}, func() float64 { return float64(c.Snapshot().Len()) })
	return &metrics{group: group, collisions: auto.NewCounter(prometheus.CounterOpts{
		Name: "quarry_catalog_collisions_total", Help: "Events refused because their repository's ID belongs to another repository.",
	})}
}
