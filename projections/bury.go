package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Headers of a dead letter, beside those of the record itself.
const (
	HeaderDeadPosition = "quarry-dead-position"
	HeaderDeadReason   = "quarry-dead-reason"
	HeaderDeadSource   = "quarry-dead-source"
)

// Bounds of a dead letter.
const (
	maxReasonBytes = 2 << 10
	// maxBuriedBytes leaves room below the log's bound of a record for the headers
	// added. The value of a larger record is left out: its position tells where
	// it is.
	maxBuriedBytes = 960 << 10
)

// bury moves a record that cannot be applied to the dead letters, then moves
// the checkpoint past it.
func (p *partition) bury(ctx context.Context, rec event.Record, reason error) error {
	p.r.metrics.records.WithLabelValues(resultPoison).Inc()
	p.r.o.Logger.Error("a record cannot be applied; it is skipped and kept in the dead letters",
		"partition", p.number, "offset", rec.Position.Offset, "error", reason)
	if err := p.appendDeadLetter(ctx, deadLetter(rec, reason)); err != nil {
		return err
	}
	b := p.r.o.Store.NewBatch()
	if err := b.SetCheckpoint(p.number, rec.Position.Offset+1); err != nil {
		return errors.Join(errStore, err, b.Close())
	}
	if err := b.Commit(); err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return nil
}

// appendDeadLetter tries until the log takes the letter: a record must not
// vanish because the log is full.
func (p *partition) appendDeadLetter(ctx context.Context, letter event.Record) error {
	if p.r.o.DeadLetters == nil {
		return nil
	}
	for wait := minWait; ; wait = min(2*wait, maxWait) {
		_, err := p.r.o.DeadLetters.Append(ctx, event.TopicDeadLetters, anyPartition, letter)
		if err == nil {
			return nil
		}
		p.r.metrics.retries.Inc()
		p.r.o.Logger.Error("a dead letter could not be written; trying again", "partition", p.number, "error", err)
		if !pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

// deadLetter returns rec as it goes to the dead letters.
func deadLetter(rec event.Record, reason error) event.Record {
	text := reason.Error()
	letter := event.Record{
		Key:   rec.Key,
		Value: rec.Value,
		Headers: append(append([]event.Header(nil), rec.Headers...),
			event.Header{Name: HeaderDeadPosition, Value: []byte(rec.Position.String())},
			event.Header{Name: HeaderDeadReason, Value: []byte(text[:min(len(text), maxReasonBytes)])},
			event.Header{Name: HeaderDeadSource, Value: []byte("projections")}),
	}
	size := len(letter.Key) + len(letter.Value)
	for _, h := range letter.Headers {
		size += len(h.Name) + len(h.Value)
	}
	if size > maxBuriedBytes {
		letter.Value = nil
	}
	return letter
}
