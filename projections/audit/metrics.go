package audit

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/projections/internal/registration"
)

// newMetrics registers the metrics of a projection:
//
//	quarry_audit_entries{topic}            entries that are kept
//	quarry_audit_head_offset{topic}        offset of the last record in the hash chain
//	quarry_audit_sealed_timestamp_seconds  when the last seal was made
func newMetrics(reg prometheus.Registerer, p *Projection) *registration.Group {
	group := registration.NewGroup(reg)
	labels := prometheus.Labels{"topic": string(p.o.Topic)}
	gauge := func(name, help string, labels prometheus.Labels, f func(*chainRow) float64) {
		promauto.With(group).NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return f(p.currentChain()) })
	}
	gauge("quarry_audit_entries", "Entries kept in the audit log, by source topic.", labels,
		func(c *chainRow) float64 { return float64(c.Entries) })
	gauge("quarry_audit_head_offset", "Offset of the last record in the hash chain of a topic of the audit log; -1 before the first.", labels,
		func(c *chainRow) float64 {
			if !c.Begun {
				return -1
			}
			return float64(c.Last)
		})
	if p.topic == topicRecords {
		gauge("quarry_audit_sealed_timestamp_seconds", "Unix time of the last seal of the audit log; 0 if there is none.", nil,
			func(c *chainRow) float64 {
				if c.Seal == nil {
					return 0
				}
				return float64(c.Seal.At.Unix())
			})
	}
	return group
}
