package web

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/query/auth/oidc"
)

// metrics covers what the API's request metrics do not.
type metrics struct {
	providerFailures *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, providers *oidc.Client) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		providerFailures: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_web_provider_failures_total",
			Help: "Sign-ins that failed between the browser and an OpenID Connect provider, by provider and reason.",
		}, []string{"provider", "reason"}),
	}
	if providers != nil {
		for _, p := range providers.Providers() {
			for _, f := range providerFailures {
				m.providerFailures.WithLabelValues(p.Name, f.reason)
			}
		}
	}
	return m
}
