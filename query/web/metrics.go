package web

import "github.com/prometheus/client_golang/prometheus"

// metrics of what the API, which measures requests, does not see.
type metrics struct {
	providerFailures *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		providerFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_web_provider_failures_total",
			Help: "Sign-ins that failed between the browser and an OpenID Connect provider, by provider and reason.",
		}, []string{"provider", "reason"}),
	}
	reg.MustRegister(m.providerFailures)
	return m
}
