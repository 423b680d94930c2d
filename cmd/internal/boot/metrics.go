package boot

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewRegistry returns the registry of a process, which holds the metrics of the
// Go runtime, of the process and quarry_build_info.
func NewRegistry(version string) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "quarry_build_info",
			Help:        "Constant 1, labeled with the versions of Quarry and Go.",
			ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
		}, func() float64 { return 1 }),
	)
	return reg
}

// MetricsHandler serves the metrics of reg to Prometheus. Only with exemplars it does so in the
// OpenMetrics format, which has them, and in which the bounds of histograms are other labels: 60 is
// 60.0.
func MetricsHandler(reg prometheus.Gatherer, exemplars bool, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		// Some of the metrics are more useful than an error page.
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: exemplars,
		// Scrapes are cheap; a scraper that sends more at the same time is misconfigured.
		MaxRequestsInFlight: 8,
	})
}
