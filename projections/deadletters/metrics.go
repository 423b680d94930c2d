package deadletters

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/projections/internal/registration"
	"github.com/quarrysearch/quarry/schemas/event"
)

// metrics are:
//
//	quarry_deadletters_open{stage}            open dead letters
//	quarry_deadletters_oldest_age_seconds     age of the oldest one held
//	quarry_deadletters_resolved_total{how}    dead letters that this process resolved
type metrics struct {
	group    *registration.Group
	resolved *prometheus.CounterVec
}

// openCollector collects all counts at the same time.
type openCollector struct {
	f    *Follower
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *openCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements prometheus.Collector.
func (c *openCollector) Collect(out chan<- prometheus.Metric) {
	for stage, n := range c.f.openLetters.openCounts() {
		out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), stage)
	}
}

func newMetrics(reg prometheus.Registerer, f *Follower) *metrics {
	group := registration.NewGroup(reg)
	group.MustRegister(&openCollector{f, prometheus.NewDesc("quarry_deadletters_open",
		"Open dead letters, by the stage that gave up the record.", []string{"stage"}, nil)})
	auto := promauto.With(group)
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_deadletters_oldest_age_seconds",
		Help: "Age of the oldest open dead letter, of the newest 10,000; 0 if there is none.",
	}, f.oldestAge)
	m := &metrics{
		group: group,
		resolved: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_deadletters_resolved_total",
			Help: "Dead letters that this process replayed, dropped, or found superseded by a later event.",
		}, []string{"resolution"}),
	}
	for _, what := range []event.Resolution{event.LetterReplayed, event.LetterDropped, event.LetterSuperseded} {
		m.resolved.WithLabelValues(string(what))
	}
	return m
}

func (f *Follower) oldestAge() float64 {
	letters := f.openLetters.listLetters()
	if len(letters) == 0 {
		return 0
	}
	return max(0, f.o.Now().Sub(letters[len(letters)-1].At).Seconds())
}
