package deliveries

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/projections/internal/registration"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// metrics are:
//
//	quarry_deliveries_waiting          pushes without an answer
//	quarry_deliveries_outcomes_total   outcomes of pushes and deliveries
type metrics struct {
	group    *registration.Group
	outcomes *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, l *Ledger) *metrics {
	group := registration.NewGroup(reg)
	auto := promauto.With(group)
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quarry_deliveries_waiting",
		Help: "Pushes in the log without an outcome; includes those that were given up.",
	}, func() float64 { return float64(l.countWaiting()) })
	m := &metrics{
		group: group,
		outcomes: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_deliveries_outcomes_total",
			Help: "Pushes that started to wait, their outcomes, and deliveries that led to no push, as applied by this process.",
		}, []string{"outcome"}),
	}
	for _, outcome := range outcomes {
		m.outcomes.WithLabelValues(outcome)
	}
	return m
}

// outcomes lists all outcomes.
var outcomes = []string{
	ledger.OutcomeWaiting, ledger.OutcomeIndexed, ledger.OutcomeCoalesced, ledger.OutcomeDeleted,
	string(event.PushUnchanged), string(event.PushUnselected), string(event.PushUnregistered), string(event.PushRefreshed), string(event.PushAbsent), string(event.PushReplayed), string(event.PushDropped),
	string(event.DeliveryDuplicate), string(event.DeliveryTaken), string(event.DeliveryIgnored), string(event.DeliveryRefused),
}
