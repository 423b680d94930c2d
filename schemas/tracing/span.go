package tracing

import (
	"context"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/quarrysearch/quarry/schemas/failure"
)

// A Span is a step of a trace. The zero Span belongs to no trace and does nothing.
type Span struct {
	span trace.Span
	// joined are the spans of other traces whose work is done in this one.
	joined []trace.Span
}

// Start begins a step of the trace of ctx.
func Start(ctx context.Context, name string) (context.Context, Span) {
	return startBelow(ctx, name, trace.SpanKindInternal)
}

// StartClient begins the span of a call of another process.
func StartClient(ctx context.Context, name string) (context.Context, Span) {
	return startBelow(ctx, name, trace.SpanKindClient)
}

// StartSend begins the span of an append to the log.
func StartSend(ctx context.Context, name string) (context.Context, Span) {
	return startBelow(ctx, name, trace.SpanKindProducer)
}

func startBelow(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{span: span}
}

// SetInt sets an attribute to a number.
func (s Span) SetInt(key string, n int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(key, n))
	}
}

// SetWord sets an attribute to a word of this program, unless it is empty: no text of a query or
// a repository.
func (s Span) SetWord(key, word string) {
	if s.span != nil && word != "" {
		s.span.SetAttributes(attribute.String(key, word))
	}
}

// End ends the span. Of an error, only its code is kept: its text may have the names of
// repositories.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	for _, span := range append(s.joined, s.span) {
		if err != nil {
			span.SetStatus(codes.Error, "")
			span.SetAttributes(attribute.String("error.type", string(failure.CodeOf(err))))
		}
		span.End()
	}
}

// methods are the methods that a span may name.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// EndRequest ends the span of a request of a route.
func (s Span) EndRequest(method, route string, status int) {
	if s.span == nil {
		return
	}
	if !slices.Contains(methods, method) {
		method = "_OTHER"
	}
	s.span.SetName(method + " " + route)
	s.span.SetAttributes(
		attribute.String("http.request.method", method), attribute.String("http.route", route), attribute.Int("http.response.status_code", status),
	)
	if status >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// TraceID returns the ID of the trace in hexadecimal, or an empty string without one.
func (s Span) TraceID() string {
	if s.span == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// TraceID returns the ID of the trace of ctx, or an empty string if it is not sampled.
func TraceID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.IsSampled() {
		return c.TraceID().String()
	}
	return ""
}

// Parent returns the trace context with which another process continues the trace of ctx, or
// an empty string if that is not sampled.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[Header]
}
