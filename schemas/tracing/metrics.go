package tracing

import "github.com/prometheus/client_golang/prometheus"

// Observe adds a value to a histogram, with a trace as its example unless the ID is empty.
func Observe(o prometheus.Observer, value float64, traceID string) {
	if e, ok := o.(prometheus.ExemplarObserver); ok && traceID != "" {
		e.ObserveWithExemplar(value, prometheus.Labels{IDKey: traceID})
		return
	}
	o.Observe(value)
}
