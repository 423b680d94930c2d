package accountrows

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/projections"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// trimEvery is the interval at which audit records that are no longer needed are trimmed
// from a log that does not trim itself.
const trimEvery = time.Hour

// Trimmer is a log that deletes the beginning of a partition on request.
type Trimmer interface {
	projections.Tailer
	// Trim deletes the records of a partition below before.
	Trim(ctx context.Context, topic event.Topic, partition int32, before event.Offset) error
}

// TrimAudit deletes records of event.TopicAudit whose entries were pruned. A failed trim
// is retried the next time. TrimAudit does nothing while a verification runs.
func (a *Rows) TrimAudit(ctx context.Context, log Trimmer) {
	plan, err := auditrows.PlanTrim(ctx, a.Store, log, a.o.Retention)
	if err == nil && plan.First < plan.Before && a.verifyMutex.TryLock() {
		defer a.verifyMutex.Unlock()
		if err = log.Trim(ctx, event.TopicAudit, 0, plan.Before); err == nil {
			a.o.Logger.Info("trimmed the audit log", "topic", string(event.TopicAudit), "first", int64(plan.Before), "records", int64(plan.Before-plan.First))
		}
	}
	if err != nil && ctx.Err() == nil {
		a.o.Logger.Error("the audit log could not be trimmed; trying again", "every", trimEvery, "error", err)
	}
}
