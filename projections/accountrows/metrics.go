package accountrows

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// rowsMetrics report how far accounts and audit log lag behind the log.
type rowsMetrics struct {
	records, seconds *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) *rowsMetrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return promauto.With(reg).NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"topic"})
	}
	return &rowsMetrics{
		records: gauge("quarry_accounts_lag_records", "Records of quarry.accounts and quarry.audit that this process has not applied yet."),
		seconds: gauge("quarry_accounts_lag_seconds", "Age of the oldest record of quarry.accounts or quarry.audit that is being applied, or how long records have waited while the log delivers none."),
	}
}
