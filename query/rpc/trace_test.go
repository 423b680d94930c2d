package rpc

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// TestCallsContinueTraces searches two shards, with a trace that is sampled and without one.
func TestCallsContinueTraces(t *testing.T) {
	front, shard := tracetest.NewSpanRecorder(), tracetest.NewSpanRecorder()
	tracer := tracing.New(trace.NewTracerProvider(trace.WithSpanProcessor(shard)), false)
	withTracer := func(o *ServerOptions) { o.Tracer = tracer }
	a, b := startShard(t, 0, withTracer), startShard(t, 1, withTracer)
	ctx, span := tracing.New(trace.NewTracerProvider(trace.WithSpanProcessor(front)), false).StartRoot(t.Context(), "root")
	view, err := search.NewShards(ctx, []search.Shard{a.NewSession([]byte("ann")), b.NewSession([]byte("ann"))})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Release()
	searcher := search.New(search.Options{})
	if _, err := searcher.Search(ctx, view, search.Request{Query: parse(t, "word"), Matches: 5}); err != nil {
		t.Fatal(err)
	}
	traced := len(shard.Ended())
	if _, err := searcher.Search(t.Context(), view, search.Request{Query: parse(t, "word"), Matches: 5}); err != nil {
		t.Fatal(err)
	}
	span.End(nil)
	if n := len(shard.Ended()); n != traced {
		t.Errorf("%d spans of calls whose trace is not sampled", n-traced)
	}
	calls, visits := map[string]string{}, 0
	for _, s := range front.Ended() {
		calls[s.SpanContext().SpanID().String()] = s.Name()
	}
	for _, s := range shard.Ended() {
		if s.SpanContext().TraceID().String() != span.TraceID() {
			t.Errorf("%s is in another trace", s.Name())
		}
		if s.Name() == "shard visit" {
			visits++
		}
		if parent := s.Parent(); parent.IsRemote() && calls[parent.SpanID().String()] != s.Name() {
			t.Errorf("the parent of %s is %q", s.Name(), calls[parent.SpanID().String()])
		}
	}
	if visits != 2 {
		t.Errorf("%d shards have visited segments, want 2", visits)
	}
}
