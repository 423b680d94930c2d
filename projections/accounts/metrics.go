package accounts

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/projections/internal/registration"
)

// metrics are:
//
//	quarry_accounts_held            objects, by kind
//	quarry_accounts_refused_total   events without effect, by reason
type metrics struct {
	group   *registration.Group
	refused *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, d *Directory) *metrics {
	group := registration.NewGroup(reg)
	group.MustRegister(countCollector{d})
	m := &metrics{group: group, refused: promauto.With(group).NewCounterVec(prometheus.CounterOpts{
		Name: "quarry_accounts_refused_total",
		Help: "Account events that were rejected by a rule when this process applied them.",
	}, []string{"reason"})}
	for _, r := range refusals {
		m.refused.WithLabelValues(string(r))
	}
	return m
}

// countCollector counts the objects in a Directory.
type countCollector struct{ d *Directory }

var countDescription = prometheus.NewDesc("quarry_accounts_held",
	"Account objects, by kind: user (at most 100000), owner (active ones), session, key, token, invitation (at most 10000), decision on a repository (at most 100000), member in these decisions (at most 1000000).",
	[]string{"kind"}, nil)

// Describe implements prometheus.Collector.
func (countCollector) Describe(c chan<- *prometheus.Desc) { c <- countDescription }

// Collect implements prometheus.Collector.
func (h countCollector) Collect(c chan<- prometheus.Metric) {
	h.d.mu.RLock()
	s := h.d.mu.state
	counts := map[string]int{
		"user": len(s.users), "owner": s.owners, "session": len(s.sessions.byID), "key": len(s.keys.byID), "token": len(s.tokens.byID),
		"invitation": len(s.invitations.byID), "decision": len(s.access), "member": s.memberships,
	}
	h.d.mu.RUnlock()
	for kind, n := range counts {
		c <- prometheus.MustNewConstMetric(countDescription, prometheus.GaugeValue, float64(n), kind)
	}
}
