package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// writeDeadLetter writes a record that cannot be applied to the dead letters, then moves
// the checkpoint past it.
func (p *partition) writeDeadLetter(ctx context.Context, rec event.Record, attempts int, reason error) error {
	if p.r.o.Topic == event.TopicEvents && isForWorkers(rec, reason) {
		p.r.metrics.records.WithLabelValues(resultPassed).Inc()
		p.r.o.Logger.Error("record cannot be read; it is skipped here, and the workers write it to the dead letters",
			"partition", p.number, "offset", rec.Position.Offset, "error", reason)
		return p.skipRecord(rec)
	}
	p.r.metrics.records.WithLabelValues(resultPoison).Inc()
	p.r.o.Logger.Error("record cannot be applied; it is skipped and written to the dead letters",
		"partition", p.number, "offset", rec.Position.Offset, "attempts", attempts, "error", reason)
	if err := p.appendDeadLetter(ctx, event.DeadLetter(rec, "projections", attempts, failure.With(failure.Rejected, reason))); err != nil {
		return err
	}
	return p.skipRecord(rec)
}

// isForWorkers reports whether a record cannot be decoded and the workers write its dead
// letter. Each record must have only one dead letter: only one worker process reads it,
// but many processes may run projections. Workers read only the events topic.
func isForWorkers(rec event.Record, reason error) bool {
	unreadable := errors.Is(reason, event.ErrUnknownType) || errors.Is(reason, event.ErrInvalid)
	return unreadable && event.ForWorkers(event.TypeOf(rec))
}

// skipRecord moves the checkpoint past a record without applying it.
func (p *partition) skipRecord(rec event.Record) error {
	b := p.r.o.Store.NewBatch()
	if err := b.SetTopicCheckpoint(p.r.o.Topic, p.number, rec.Position.Offset+1); err != nil {
		return errors.Join(errStore, err, b.Close())
	}
	if err := b.Commit(); err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return nil
}

// appendDeadLetter retries until the dead letter is appended, because a record must not
// be lost when the log is full.
func (p *partition) appendDeadLetter(ctx context.Context, letter event.Record) error {
	if p.r.o.DeadLetters == nil {
		return nil
	}
	for wait := minWait; ; wait = min(2*wait, maxWait) {
		_, err := p.r.o.DeadLetters.Append(ctx, event.TopicDeadLetters, event.AnyPartition, letter)
		if err == nil {
			return nil
		}
		p.r.metrics.retries.Inc()
		p.r.o.Logger.Error("a dead letter could not be written; trying again", "partition", p.number, "error", err)
		if clock.Sleep(ctx, wait) != nil {
			return ctx.Err()
		}
	}
}
