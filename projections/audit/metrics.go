package audit

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are:
//
//	quarry_audit_entries{topic}        entries that are kept
//	quarry_audit_head_offset{topic}    offset of the last record in the hash chain
//	quarry_audit_sealed_timestamp_seconds  when the last seal was made
type metrics struct {
	reg    prometheus.Registerer
	gauges []prometheus.GaugeFunc
}

func newMetrics(reg prometheus.Registerer, p *Projection) (*metrics, error) {
	labels := prometheus.Labels{"topic": string(p.o.Topic)}
	gauge := func(name, help string, labels prometheus.Labels, f func(*chainRow) float64) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return f(p.currentChain()) })
	}
	m := &metrics{reg: reg, gauges: []prometheus.GaugeFunc{
		gauge("quarry_audit_entries", "Entries kept in the audit log, by source topic.", labels,
			func(c *chainRow) float64 { return float64(c.Entries) }),
		gauge("quarry_audit_head_offset", "Offset of the last record in the hash chain of a topic of the audit log; -1 before the first.", labels,
			func(c *chainRow) float64 {
				if !c.Begun {
					return -1
				}
				return float64(c.Last)
			}),
	}}
	if p.topic == topicRecords {
		m.gauges = append(m.gauges, gauge("quarry_audit_sealed_timestamp_seconds", "Unix time of the last seal of the audit log; 0 if there is none.", nil,
			func(c *chainRow) float64 {
				if c.Seal == nil {
					return 0
				}
				return float64(c.Seal.At.Unix())
			}))
	}
	if reg == nil {
		return m, nil
	}
	for _, g := range m.gauges {
		if err := reg.Register(g); err != nil {
			return nil, fmt.Errorf("audit: register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) unregisterAll() {
	if m.reg == nil {
		return
	}
	for _, g := range m.gauges {
		m.reg.Unregister(g)
	}
}
