package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/deadletters"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ledger is the projection of deliveries as the API sees it. The dead letters know
// which of the waiting pushes were given up; the ledger does not.
type deliveryLedger struct {
	versions    *versions
	registrar   *registrar
	deadLetters *deadletters.Follower
}

var _ api.Deliveries = (*deliveryLedger)(nil)

// maxListCalls bounds how often the ledger is read for one page of pushes that
// wait, or that failed.
const maxListCalls = 8

// List implements api.Deliveries.
func (l *deliveryLedger) List(_ context.Context, q api.DeliveryQuery) (api.DeliveryPage, error) {
	i := l.versions.acquireLive()
	defer i.refCount.release()
	out := api.DeliveryPage{Next: q.Cursor}
	for range maxListCalls {
		limit := q.Limit - len(out.Deliveries)
		page, err := i.ledger.List(deliveries.Query{
			Connection: q.Connection, DeliveryID: q.DeliveryID, Repository: q.Repository, Outcome: ledgerOutcome(q.Outcome),
			Since: q.Since, After: deliveries.Cursor(out.Next), Limit: limit,
		})
		if errors.Is(err, deliveries.ErrCursor) {
			err = fmt.Errorf("%w: %w", api.ErrCursor, err)
		}
		if err != nil {
			return api.DeliveryPage{}, err
		}
		for _, from := range page.Deliveries {
			if d := l.convertDelivery(i.catalog.Snapshot(), from); hasOutcome(d, q.Outcome) {
				out.Deliveries = append(out.Deliveries, d)
			}
		}
		if out.Next = string(page.Next); out.Next == "" || len(out.Deliveries) == q.Limit || len(page.Deliveries) < limit {
			break
		}
	}
	return out, nil
}

// ledgerOutcome is what the ledger calls an outcome.
func ledgerOutcome(outcome string) string {
	if outcome == api.OutcomeFailed {
		return deliveries.OutcomeWaiting
	}
	return outcome
}

// hasOutcome distinguishes failed from waiting, which are one to the ledger.
func hasOutcome(d *api.Delivery, outcome string) bool {
	if outcome != api.OutcomeFailed && outcome != api.OutcomeWaiting {
		return true
	}
	return slices.ContainsFunc(d.Pushes, func(p api.DeliveredPush) bool { return p.Outcome == outcome })
}

// Delivery implements api.Deliveries.
func (l *deliveryLedger) Delivery(_ context.Context, at event.Position) (*api.Delivery, error) {
	i := l.versions.acquireLive()
	defer i.refCount.release()
	d, err := i.ledger.Get(at)
	if err != nil {
		return nil, err
	}
	return l.convertDelivery(i.catalog.Snapshot(), d), nil
}

func (l *deliveryLedger) convertDelivery(known *catalog.Snapshot, d *deliveries.Delivery) *api.Delivery {
	out := &api.Delivery{
		Position: d.Position, Source: d.Source, Connection: d.Connection, DeliveryID: d.DeliveryID, BodySHA256: d.BodySHA256,
		Repository: d.Repository, ReceivedAt: d.ReceivedAt, LoggedAt: d.LoggedAt, Duplicates: d.Duplicates, LastDuplicateAt: d.LastDuplicateAt,
		Outcome: d.Outcome, Reason: d.Reason, Of: d.Of, Suppressed: d.Suppressed, Pushes: make([]api.DeliveredPush, len(d.Pushes)),
	}
	if r, ok := known.ByID(d.Repository); ok {
		out.RepositoryName = r.Name
	}
	for i := range d.Pushes {
		out.Pushes[i] = l.convertPush(&d.Pushes[i])
	}
	return out
}

func (l *deliveryLedger) convertPush(p *deliveries.Push) api.DeliveredPush {
	out := api.DeliveredPush{
		Position: p.Position, Ref: p.Ref, Before: p.Before, After: p.After, Action: p.Action, Outcome: p.Outcome, Commit: p.Commit,
		Changes: p.Changes, Documents: p.Documents, Segments: p.Segments, Cause: p.Cause, Answered: p.Answered,
		DoneAt: p.DoneAt, SearchableAt: p.SearchableAt, Here: p.Here,
	}
	if p.Outcome != deliveries.OutcomeWaiting {
		return out
	}
	if letter := l.deadLetters.OfPush(p.Position); letter != nil {
		out.Outcome, out.Reason, out.Code, out.DeadLetter = api.OutcomeFailed, letter.Reason, letter.Code, &letter.Position
	}
	return out
}

// redeliveryPrefix begins the delivery IDs of redeliveries; the key of the original
// delivery follows, and a part that distinguishes its redeliveries.
const redeliveryPrefix = "redelivery-of-"

// Redeliver implements api.Deliveries.
func (l *deliveryLedger) Redeliver(ctx context.Context, at event.Position) (string, []event.Position, error) {
	i := l.versions.acquireLive()
	defer i.refCount.release()
	d, err := i.ledger.Get(at)
	if err != nil {
		return "", nil, err
	}
	if len(d.Pushes) == 0 {
		return "", nil, fmt.Errorf("%w: the delivery led to no push (%s), so there is nothing to deliver again", api.ErrConflict, d.Outcome)
	}
	if _, ok := i.catalog.Snapshot().ByID(d.Repository); !ok {
		return "", nil, fmt.Errorf("%w: repository %s is not registered any more", api.ErrConflict, d.Repository)
	}
	id := fmt.Sprintf("%s%d-%d-%s", redeliveryPrefix, at.Partition, at.Offset, rand.Text()[:8])
	now := l.registrar.now().UTC()
	var events []event.Event
	seen := map[code.Ref]bool{}
	for _, p := range d.Pushes {
		if !seen[p.Ref] {
			seen[p.Ref] = true
			events = append(events, &event.Push{
				Repository: d.Repository, Ref: p.Ref, Action: event.ActionRefresh, Connection: d.Connection, DeliveryID: id, ReceivedAt: now,
			})
		}
	}
	positions, err := l.registrar.appendEvents(ctx, events...)
	return id, positions, err
}
