// Package tracing follows a push or a search through the processes of an installation.
//
// It answers the question "where did this push or this search spend its time?". A Tracer
// begins traces and continues those of other processes; Start begins a span in the trace of
// a context. Only this package and the exporter (cmd/internal/traces) know OpenTelemetry.
//
// # Invariants
//
//  1. The process that receives a push or a request decides whether its trace is sampled.
//     Without the span of a sampled trace in its context, Start does nothing, and no record
//     of the log and no call of another process has a trace context.
//  2. A span has no text of a query, a repository or an error: its attributes are counts,
//     numbers, and words from tables of this program. The names of spans are constants or
//     routes.
//  3. A trace context that a caller sends has no effect, unless the settings say so.
//
// # Concurrency
//
// A Tracer is safe for concurrent use; a Span is used by one goroutine at a time.
package tracing
