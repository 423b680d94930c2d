package accountrows

import (
	"context"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accounts"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// auditRows opens the audit entries and the hash chain of a topic.
func (a *Rows) auditRows(topic event.Topic, decoder *projections.Decoder) (*auditrows.Projection, error) {
	p, err := auditrows.New(auditrows.Options{
		Topic: topic, Store: a.Store, Decoder: decoder, Refused: refusalOf(a.Directory),
		Retention: a.o.Retention, Registerer: a.o.Registerer,
	})
	if err != nil {
		return nil, err
	}
	a.Audit = append(a.Audit, p)
	return p, nil
}

// refusalOf returns a function that returns why the current record has no effect.
func refusalOf(d *accounts.Directory) func(event.Position) string {
	return func(at event.Position) string {
		why, _ := d.Outcome(at) // the directory was applied before, so it knows
		return string(why)
	}
}

// followAudit opens the projection of event.TopicAudit.
func (a *Rows) followAudit() error {
	decoder := projections.NewDecoder(nil)
	p, err := a.auditRows(event.TopicAudit, decoder)
	if err != nil {
		return err
	}
	_, err = a.followTopic(event.TopicAudit, decoder, p)
	return err
}

// catchUpTimeout bounds the time that the rows of a stopped server take to catch up with
// the log.
const catchUpTimeout = 30 * time.Minute

// TryHold prevents trims of the audit log and a second verification until the caller
// calls release. It reports false if another caller holds it.
func (a *Rows) TryHold() (release func(), held bool) {
	return a.verifyMutex.Unlock, a.verifyMutex.TryLock()
}

// AwaitAll waits until both topics have been applied up to the end that the log had at
// the start.
func (a *Rows) AwaitAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	for _, t := range a.runners {
		select {
		case <-t.runner.CaughtUp():
		case <-ctx.Done():
			return fmt.Errorf("read %s: %w", t.topic, ctx.Err())
		}
	}
	return nil
}
