package accountrows

import (
	"github.com/prometheus/client_golang/prometheus"
)

// rowsMetrics report how far accounts and audit log lag behind the log.
type rowsMetrics struct {
	reg              prometheus.Registerer
	records, seconds *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) *rowsMetrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"topic"})
	}
	m := &rowsMetrics{
		reg:     reg,
		records: gauge("quarry_accounts_lag_records", "Records of quarry.accounts and quarry.audit that this process has not applied yet."),
		seconds: gauge("quarry_accounts_lag_seconds", "Age of the oldest record of quarry.accounts or quarry.audit that is being applied, or how long records have waited while the log delivers none."),
	}
	reg.MustRegister(m.records, m.seconds)
	return m
}

func (m *rowsMetrics) unregisterAll() {
	m.reg.Unregister(m.records)
	m.reg.Unregister(m.seconds)
}
