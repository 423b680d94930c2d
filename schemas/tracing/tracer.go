package tracing

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope names the program as the origin of its spans.
const scope = "github.com/quarrysearch/quarry"

// Header is the name of the header that carries a trace context, in requests and in records
// of the log.
const Header = "traceparent"

// IDKey is the key of the ID of a trace in lines of the log, which write it in full, and in
// examples of histograms.
const IDKey = "trace_id"

// maxJoined bounds the traces that a span of several pushes joins. Those of further pushes end
// in the log.
const maxJoined = 32

// A Tracer begins traces. A nil Tracer begins none.
type Tracer struct {
	tracer       trace.Tracer
	trustCallers bool
}

// New returns a Tracer whose spans a provider samples and exports. With trustCallers, the
// traces of requests continue those of their callers.
func New(provider trace.TracerProvider, trustCallers bool) *Tracer {
	return &Tracer{provider.Tracer(scope), trustCallers}
}

// StartRequest begins the span of a request, which EndRequest ends.
func (t *Tracer) StartRequest(r *http.Request) (context.Context, Span) {
	if t == nil {
		return r.Context(), Span{}
	}
	parent := r.Context()
	if t.trustCallers {
		parent = withRemote(parent, r.Header.Get(Header))
	}
	return t.startSpan(r.Context(), parent, "HTTP", trace.WithSpanKind(trace.SpanKindServer))
}

// StartRoot begins a trace of work that no request has caused.
func (t *Tracer) StartRoot(ctx context.Context, name string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	return t.startSpan(ctx, ctx, name)
}

// StartCall begins the span of a call of another process, in the trace that the call names.
func (t *Tracer) StartCall(ctx context.Context, parent, name string) (context.Context, Span) {
	remote, ok := t.readParent(ctx, parent)
	if !ok {
		return ctx, Span{}
	}
	return t.startSpan(ctx, remote, name, trace.WithSpanKind(trace.SpanKindServer))
}

// StartBatch begins the span of work on several records, in the trace of the first sampled one.
// The traces of others get a span that links to it.
func (t *Tracer) StartBatch(ctx context.Context, parents []string, name string) (context.Context, Span) {
	var span Span
	kind := trace.WithSpanKind(trace.SpanKindConsumer)
	joined := map[trace.TraceID]bool{}
	for _, parent := range parents {
		remote, ok := t.readParent(ctx, parent)
		origin := trace.SpanContextFromContext(remote)
		switch {
		case !ok || joined[origin.TraceID()] || len(joined) == maxJoined:
			continue
		case span.span == nil:
			ctx, span = t.startSpan(ctx, remote, name, kind)
		default:
			_, other := t.tracer.Start(remote, name, kind, trace.WithLinks(trace.Link{SpanContext: span.span.SpanContext()}))
			span.span.AddLink(trace.Link{SpanContext: origin})
			span.joined = append(span.joined, other)
		}
		joined[origin.TraceID()] = true
	}
	return ctx, span
}

// Record adds a span of work on a record that is over, and returns the ID of its trace; empty
// if that is not sampled.
func (t *Tracer) Record(parent, name string, began, ended time.Time) string {
	remote, ok := t.readParent(context.Background(), parent)
	if !ok {
		return ""
	}
	_, span := t.tracer.Start(remote, name, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(began))
	span.End(trace.WithTimestamp(ended))
	return span.SpanContext().TraceID().String()
}

// startSpan begins a span of a parent. Without a sampled trace it returns ctx as it is.
func (t *Tracer) startSpan(ctx, parent context.Context, name string, o ...trace.SpanStartOption) (context.Context, Span) {
	started, span := t.tracer.Start(parent, name, o...)
	if !span.IsRecording() {
		return ctx, Span{}
	}
	return started, Span{span: span}
}

// readParent returns a context with a span of another process as the parent, and whether its trace
// is sampled.
func (t *Tracer) readParent(ctx context.Context, parent string) (context.Context, bool) {
	if t == nil || parent == "" {
		return ctx, false
	}
	ctx = withRemote(trace.ContextWithSpan(ctx, nil), parent)
	return ctx, trace.SpanContextFromContext(ctx).IsSampled()
}

// withRemote returns ctx with the span that a trace context names, if it is valid. The state of
// vendors is left out: it is text of the caller.
func withRemote(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{Header: parent})
}
