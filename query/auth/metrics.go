package auth

import "github.com/prometheus/client_golang/prometheus"

// Why a credential was refused: the label reason.
const (
	refusedMissing   = "missing"
	refusedMalformed = "malformed"
	refusedUnknown   = "unknown"
	refusedExpired   = "expired"
	refusedInactive  = "inactive"
	refusedDisagree  = "disagree"
)

type metrics struct {
	refused *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_auth_refused_requests_total",
			Help: "Requests without a good credential, by what is wrong; clients are not told.",
		}, []string{"reason"}),
	}
	reg.MustRegister(m.refused)
	return m
}
