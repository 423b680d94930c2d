package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"github.com/quarrysearch/quarry/cmd/internal/config"
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
	if o.TLS, err = collectorTLS(c); err != nil {
		return err
	}
	s.traces = traces.New(o)
	return nil
}

// collectorTLS returns the configuration of connections to the collector.
func collectorTLS(c *config.Tracing) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		text, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tracing.caFile: %w", err)
		}
		if out.RootCAs = x509.NewCertPool(); !out.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("tracing.caFile: there is no certificate in %s", c.CAFile)
		}
	}
	if c.CertFile == "" {
		return out, nil
	}
	read := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		return &pair, err
	}
	if _, err := read(); err != nil {
		return nil, fmt.Errorf("tracing.certFile: %w", err)
	}
	out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return read() }
	return out, nil
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
