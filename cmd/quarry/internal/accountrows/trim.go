package accountrows

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// trimEvery is how often a log that does not do so by itself loses what the audit
// log need not keep.
const trimEvery = time.Hour

// TrimAudit deletes records of event.TopicAudit whose entries were pruned. What
// fails is tried again the next time; a verification goes before it.
func (a *Rows) TrimAudit(ctx context.Context, log eventlog.Trimmer) {
	plan, err := auditrows.PlanTrim(ctx, a.Store, log, a.o.Config.Audit.Retention.Std())
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
