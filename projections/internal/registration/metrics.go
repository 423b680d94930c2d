// Package registration registers the metrics of objects that are opened more than once in the life
// of a process, such as stores and projections, and unregisters them when an object is closed.
package registration

import "github.com/prometheus/client_golang/prometheus"

// Group is the registerer of one object. It must not be used by several goroutines at a time.
type Group struct {
	reg        prometheus.Registerer
	collectors []prometheus.Collector
}

var _ prometheus.Registerer = (*Group)(nil)

// NewGroup returns a group that registers with reg, or nowhere if reg is nil.
func NewGroup(reg prometheus.Registerer) *Group { return &Group{reg: reg} }

// Register implements prometheus.Registerer.
func (g *Group) Register(c prometheus.Collector) error {
	if g.reg == nil {
		return nil
	}
	if err := g.reg.Register(c); err != nil {
		return err
	}
	g.collectors = append(g.collectors, c)
	return nil
}

// MustRegister implements prometheus.Registerer.
func (g *Group) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := g.Register(c); err != nil {
			panic(err)
		}
	}
}

// Unregister implements prometheus.Registerer.
func (g *Group) Unregister(c prometheus.Collector) bool { return g.reg != nil && g.reg.Unregister(c) }

// Close unregisters the metrics of the group.
func (g *Group) Close() {
	for _, c := range g.collectors {
		g.reg.Unregister(c)
	}
}
