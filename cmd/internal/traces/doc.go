// Package traces exports the spans of a process to an OpenTelemetry collector.
//
// It answers the question "how do spans leave this process, and what if they cannot?". New
// returns an Exporter, whose Tracer creates spans, and whose Run sends them as OTLP over HTTP.
//
// # Invariants
//
//  1. Nothing waits for the collector: a span that finds the queue full is dropped and
//     counted.
//  2. The queue has at most maxQueued spans, a request maxBatch of them, and a span maxAttributes
//     attributes of maxValueBytes.
//  3. After the context of Run has ended, the spans in the queue are sent for at most
//     flushTimeout.
package traces
