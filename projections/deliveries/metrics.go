package deliveries

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// metrics are:
//
//	quarry_deliveries_waiting          pushes without an answer
//	quarry_deliveries_outcomes_total   outcomes of pushes and deliveries
type metrics struct {
	reg      prometheus.Registerer
	waiting  prometheus.GaugeFunc
	outcomes *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, l *Ledger) (*metrics, error) {
	m := &metrics{
		reg: reg,
		waiting: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "quarry_deliveries_waiting",
			Help: "Pushes in the log without an outcome; includes those that were given up.",
		}, func() float64 { return float64(l.countWaiting()) }),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_deliveries_outcomes_total",
			Help: "Pushes that started to wait, their outcomes, and deliveries that led to no push, as applied by this process.",
		}, []string{"outcome"}),
	}
	for _, outcome := range outcomes {
		m.outcomes.WithLabelValues(outcome)
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.waiting, m.outcomes} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("deliveries: register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) unregisterAll() {
	if m.reg != nil {
		m.reg.Unregister(m.waiting)
		m.reg.Unregister(m.outcomes)
	}
}

// outcomes lists all outcomes.
var outcomes = []string{
	ledger.OutcomeWaiting, ledger.OutcomeIndexed, ledger.OutcomeCoalesced, ledger.OutcomeDeleted,
	string(event.PushUnchanged), string(event.PushUnselected), string(event.PushUnregistered), string(event.PushRefreshed), string(event.PushAbsent), string(event.PushReplayed), string(event.PushDropped),
	string(event.DeliveryDuplicate), string(event.DeliveryTaken), string(event.DeliveryIgnored), string(event.DeliveryRefused),
}
