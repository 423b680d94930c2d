package traces

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// Bounds of the queue and of requests.
const (
	maxQueued     = 4096
	maxBatch      = 512
	maxAttributes = 16
	maxValueBytes = 256
	// exportEvery is the longest time that a span waits for others of its batch.
	exportEvery = 2 * time.Second
	// exportTimeout bounds a request, and maxAttempts the requests of a batch.
	exportTimeout = 10 * time.Second
	maxAttempts   = 4
	minRetry      = time.Second
	// flushTimeout bounds the export of the last spans when the process stops.
	flushTimeout = 3 * time.Second
	// failureLogEvery is the interval at which failures are logged.
	failureLogEvery = time.Minute
)

// Options configure an Exporter. URL, Metrics and Logger are required.
type Options struct {
	// URL takes OTLP over HTTP.
	URL     string
	Headers http.Header
	TLS     *tls.Config
	// SampleRatio is the share of the traces that are sampled, from 0 to 1.
	SampleRatio float64
	// TrustCallers is that of tracing.New.
	TrustCallers bool
	// Version and Instance describe the process.
	Version, Instance string
	Metrics           *Metrics
	Logger            *slog.Logger
}

// An Exporter sends spans to a collector. It is safe for concurrent use.
type Exporter struct {
	o        Options
	tracer   *tracing.Tracer
	queue    chan trace.ReadOnlySpan
	client   *client
	exporter *otlptrace.Exporter
	// failedAt is when a failure was logged last; zero since the last success.
	failedAt time.Time
}

// New returns an Exporter. Spans wait until Run is called.
func New(o Options) *Exporter {
	e := &Exporter{o: o, queue: make(chan trace.ReadOnlySpan, maxQueued), client: newClient(&o)}
	e.exporter = otlptrace.NewUnstarted(e.client)
	provider := trace.NewTracerProvider(
		trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(o.SampleRatio))),
		trace.WithRawSpanLimits(trace.SpanLimits{
			AttributeValueLengthLimit: maxValueBytes, AttributeCountLimit: maxAttributes, EventCountLimit: maxAttributes, LinkCountLimit: 2 * maxAttributes,
			AttributePerEventCountLimit: maxAttributes, AttributePerLinkCountLimit: maxAttributes,
		}),
		trace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "quarry"), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Instance),
		)),
		trace.WithSpanProcessor(queuer{e}),
	)
	e.tracer = tracing.New(provider, o.TrustCallers)
	return e
}

// Tracer returns the Tracer whose spans are exported; nil for a nil Exporter.
func (e *Exporter) Tracer() *tracing.Tracer {
	if e == nil {
		return nil
	}
	return e.tracer
}

// queuer adds spans that have ended to the queue of an Exporter.
type queuer struct{ e *Exporter }

var _ trace.SpanProcessor = queuer{}

// OnStart implements trace.SpanProcessor.
func (queuer) OnStart(context.Context, trace.ReadWriteSpan) {}

// OnEnd implements trace.SpanProcessor.
func (q queuer) OnEnd(s trace.ReadOnlySpan) {
	select {
	case q.e.queue <- s:
	default:
		q.e.o.Metrics.dropped.WithLabelValues(droppedQueueFull).Inc()
	}
}

// Shutdown implements trace.SpanProcessor.
func (queuer) Shutdown(context.Context) error { return nil }

// ForceFlush implements trace.SpanProcessor.
func (queuer) ForceFlush(context.Context) error { return nil }

// Run exports spans until ctx ends, and then those that wait.
func (e *Exporter) Run(ctx context.Context) error {
	defer e.client.http.CloseIdleConnections()
	tick := time.NewTicker(exportEvery)
	defer tick.Stop()
	var batch []trace.ReadOnlySpan
	for {
		select {
		case s := <-e.queue:
			if batch = append(batch, s); len(batch) < maxBatch {
				continue
			}
		case <-tick.C:
		case <-ctx.Done():
			flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			for len(e.queue) > 0 || len(batch) > 0 {
				for len(e.queue) > 0 && len(batch) < maxBatch {
					batch = append(batch, <-e.queue)
				}
				if !e.exportBatch(flush, batch, 1) {
					e.o.Metrics.dropped.WithLabelValues(droppedFailed).Add(float64(len(batch)))
					e.logFailure(flush.Err())
				}
				batch = nil
			}
			return nil
		}
		if len(batch) > 0 && e.exportBatch(ctx, batch, maxAttempts) {
			batch = nil
		}
	}
}

// exportBatch sends a batch, or drops it after some attempts. It returns false if ctx ends before
// that.
func (e *Exporter) exportBatch(ctx context.Context, batch []trace.ReadOnlySpan, attempts int) bool {
	for wait := minRetry; ; wait *= 2 {
		within, cancel := context.WithTimeout(ctx, exportTimeout)
		err := e.exporter.ExportSpans(within, batch)
		cancel()
		var refused *refusedError
		switch {
		case err == nil:
			e.o.Metrics.exported.Add(float64(len(batch)))
			if !e.failedAt.IsZero() {
				e.o.Logger.Info("traces are exported again")
				e.failedAt = time.Time{}
			}
			return true
		case errors.As(err, &refused) && !refused.temporary:
			rejected := min(refused.spans, len(batch))
			e.o.Metrics.exported.Add(float64(len(batch) - rejected))
			e.o.Metrics.dropped.WithLabelValues(droppedRejected).Add(float64(rejected))
			e.logFailure(err)
			return true
		case ctx.Err() != nil:
			return false
		}
		e.o.Metrics.failures.Inc()
		e.logFailure(err)
		if attempts--; attempts <= 0 {
			e.o.Metrics.dropped.WithLabelValues(droppedFailed).Add(float64(len(batch)))
			return true
		}
		if clock.Sleep(ctx, wait) != nil {
			return false
		}
	}
}

// logFailure logs a failure, unless another one was logged a short time ago.
func (e *Exporter) logFailure(err error) {
	if now := time.Now(); e.failedAt.IsZero() || now.Sub(e.failedAt) >= failureLogEvery {
		e.failedAt = now
		e.o.Logger.Warn("traces are not exported: check tracing.endpoint and the collector", "error", err)
	}
}
