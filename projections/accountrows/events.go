package accountrows

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Events appends to event.TopicAccounts. auth.Service does so for its callers.
type Events struct {
	log projections.Appender
	now func() time.Time
}

// NewEvents returns an appender of account events to log.
func NewEvents(log projections.Appender, now func() time.Time) Events { return Events{log, now} }

// accountSource is the CloudEvents source of account events.
const accountSource = "/query/auth"

// Append appends events and returns the position of the last one. Either all events become durable or, if a broker fails
// in between, a prefix of them. Appending them again has no second effect.
func (a Events) Append(ctx context.Context, events ...event.Event) (event.Position, error) {
	records := make([]event.Record, len(events))
	for i, ev := range events {
		var err error
		records[i], err = event.Encode(event.Envelope{ID: rand.Text(), Source: accountSource, Time: a.now().UTC()}, ev)
		if err != nil {
			return event.Position{}, err
		}
	}
	positions, err := a.log.Append(ctx, event.TopicAccounts, 0, records...)
	if err != nil {
		return event.Position{}, err
	}
	return positions[len(positions)-1], nil
}
