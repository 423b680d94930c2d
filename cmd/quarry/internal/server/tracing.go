package server

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/traces"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// openTraces opens the exporter of traces, if there is a collector.
func (s *Server) openTraces(context.Context) error {
	c, metrics := &s.o.Config.Tracing, traces.NewMetrics(s.o.Registerer)
	if c.Endpoint == "" {
		return nil
	}
	o := traces.Options{
		URL: c.TracesURL(), SampleRatio: float64(c.SampleRatio), TrustCallers: c.TrustCallers, Headers: http.Header{},
		Version: s.o.Version, Instance: s.listeners.main.Addr().String(), Metrics: metrics, Logger: s.o.Logger,
	}
	if host, err := os.Hostname(); err == nil {
		o.Instance = host + " " + o.Instance
	}
	for i, h := range c.Headers {
		value, err := h.Value.Value()
		if err != nil {
			return fmt.Errorf("tracing.headers[%d]: %w", i, err)
		}
		o.Headers.Add(h.Name, value)
	}
	var err error
	if o.TLS, err = boot.ClientTLS(c.CAFile, c.CertFile, c.KeyFile); err != nil {
		return fmt.Errorf("tracing: %w", err)
	}
	s.traces = traces.New(o)
	return nil
}

// tracedLog begins a trace for each append of work that no request has caused.
type tracedLog struct {
	eventlog.Log
	tracer *tracing.Tracer
	name   string
}

// Append implements eventlog.Log.
func (l tracedLog) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) (positions []event.Position, err error) {
	ctx, span := l.tracer.StartRoot(ctx, l.name)
	defer func() { span.End(err) }()
	return l.Log.Append(ctx, topic, partition, records...)
}
