package outcomes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/deadletters"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

// Deliveries presents the ledger to the API.
type Deliveries struct {
	versions    *versions.Versions
	deadLetters *deadletters.Follower
	append      func(ctx context.Context, events ...event.Event) ([]event.Position, error)
	now         func() time.Time
}

// NewDeliveries returns the ledger of the live version. appendEvents appends redeliveries
// to the log. All arguments are required.
func NewDeliveries(
	v *versions.Versions, f *deadletters.Follower, appendEvents func(context.Context, ...event.Event) ([]event.Position, error),
	now func() time.Time,
) *Deliveries {
	return &Deliveries{versions: v, deadLetters: f, append: appendEvents, now: now}
}

// maxListCalls bounds how often the ledger is read for one page of waiting or failed
// pushes.
const maxListCalls = 8

// List returns a page of deliveries, newest first. The ledger does not distinguish waiting pushes from
// failed ones, so a page of either may need several pages of the ledger.
func (l *Deliveries) List(_ context.Context, q ledger.Query) (ledger.Page, error) {
	i := l.versions.Acquire()
	defer i.Release()
	known, outcome := i.Catalog.Snapshot(), q.Outcome
	if outcome == ledger.OutcomeFailed {
		q.Outcome = ledger.OutcomeWaiting
	}
	out, limit := ledger.Page{Next: q.Cursor}, q.Limit
	for range maxListCalls {
		q.Cursor, q.Limit = out.Next, limit-len(out.Deliveries)
		page, err := i.Ledger.List(q)
		if errors.Is(err, deliveries.ErrCursor) {
			err = fmt.Errorf("%w: %w", failure.ErrCursor, err)
		}
		if err != nil {
			return ledger.Page{}, err
		}
		for _, d := range page.Deliveries {
			if l.addFailures(known, d); hasOutcome(d, outcome) {
				out.Deliveries = append(out.Deliveries, d)
			}
		}
		if out.Next = page.Next; out.Next == "" || len(out.Deliveries) == limit || len(page.Deliveries) < q.Limit {
			break
		}
	}
	return out, nil
}

// hasOutcome distinguishes failed from waiting deliveries, which the ledger does not.
func hasOutcome(d *ledger.Delivery, outcome string) bool {
	if outcome != ledger.OutcomeFailed && outcome != ledger.OutcomeWaiting {
		return true
	}
	return slices.ContainsFunc(d.Pushes, func(p ledger.Push) bool { return p.Outcome == outcome })
}

// Delivery returns the delivery whose first event is at a position.
func (l *Deliveries) Delivery(_ context.Context, at event.Position) (*ledger.Delivery, error) {
	i := l.versions.Acquire()
	defer i.Release()
	d, err := i.Ledger.Get(at)
	if err != nil {
		return nil, err
	}
	l.addFailures(i.Catalog.Snapshot(), d)
	return d, nil
}

// addFailures fills in what the ledger does not know: the name of the repository, and
// which of the waiting pushes were given up.
func (l *Deliveries) addFailures(known *catalog.Snapshot, d *ledger.Delivery) {
	if r, ok := known.ByID(d.Repository); ok {
		d.RepositoryName = r.Name
	}
	for i := range d.Pushes {
		p := &d.Pushes[i]
		if p.Outcome != ledger.OutcomeWaiting {
			continue
		}
		if letter := l.deadLetters.OfPush(p.Position); letter != nil {
			p.Outcome, p.Reason, p.Code, p.DeadLetter = ledger.OutcomeFailed, letter.Reason, letter.Code, &letter.Position
		}
	}
}

// redeliveryPrefix is the prefix of the delivery IDs of redeliveries. The key of the
// original delivery follows, and then a unique part.
const redeliveryPrefix = "redelivery-of-"

// Redeliver appends a check of each ref of a delivery, and returns the ID of that delivery.
func (l *Deliveries) Redeliver(ctx context.Context, at event.Position) (string, []event.Position, error) {
	i := l.versions.Acquire()
	defer i.Release()
	d, err := i.Ledger.Get(at)
	if err != nil {
		return "", nil, err
	}
	if len(d.Pushes) == 0 {
		return "", nil, fmt.Errorf("%w: the delivery led to no push (%s), so there is nothing to deliver again", failure.ErrConflict, d.Outcome)
	}
	if _, ok := i.Catalog.Snapshot().ByID(d.Repository); !ok {
		return "", nil, fmt.Errorf("%w: repository %s is not registered any more", failure.ErrConflict, d.Repository)
	}
	id := fmt.Sprintf("%s%d-%d-%s", redeliveryPrefix, at.Partition, at.Offset, rand.Text()[:8])
	now := l.now().UTC()
	var events []event.Event
	seen := map[code.Ref]bool{}
	for _, p := range d.Pushes {
		if !seen[p.Ref] {
			seen[p.Ref] = true
			action := event.ActionUpdated
			if p.Ref == "" {
				action = event.ActionRefresh
			}
			events = append(events, &event.Push{Repository: d.Repository, Ref: p.Ref, Action: action, Connection: d.Connection, DeliveryID: id, ReceivedAt: now})
		}
	}
	positions, err := l.append(ctx, events...)
	return id, positions, err
}
