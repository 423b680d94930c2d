package eventlog

import (
	"context"
	"slices"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// StartAppend begins the span of an append of events, if the trace of ctx is sampled, and
// returns the records with its trace context. A record that has one, such as a replayed dead
// letter, keeps it. The records of the caller do not change.
func StartAppend(ctx context.Context, topic event.Topic, records []event.Record) ([]event.Record, tracing.Span) {
	if topic != event.TopicEvents {
		return records, tracing.Span{}
	}
	ctx, span := tracing.StartSend(ctx, "send "+string(event.TopicEvents))
	parent := tracing.Parent(ctx)
	if parent == "" {
		return records, span
	}
	span.SetWord("messaging.destination.name", string(topic))
	span.SetWord("messaging.operation.type", "send")
	span.SetInt("messaging.batch.message_count", int64(len(records)))
	records = slices.Clone(records)
	for i := range records {
		if event.TraceOf(records[i]) == "" {
			records[i].Headers = append(slices.Clip(records[i].Headers), event.Header{Name: event.HeaderTrace, Value: []byte(parent)})
		}
	}
	return records, span
}
