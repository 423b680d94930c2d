package boot

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestBoundsOfHistogramsKeepTheirLabels scrapes as Prometheus does, which prefers OpenMetrics: rules
// name the bounds of histograms.
func TestBoundsOfHistogramsKeepTheirLabels(t *testing.T) {
	reg := prometheus.NewRegistry()
	waits := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "wait_seconds", Buckets: []float64{60}})
	reg.MustRegister(waits)
	waits.Observe(1)
	for exemplars, want := range map[bool]string{false: `le="60"`, true: `le="60.0"`} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
		w := httptest.NewRecorder()
		MetricsHandler(reg, exemplars, slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("with exemplars %t there is no %s in\n%s", exemplars, want, w.Body)
		}
	}
}
