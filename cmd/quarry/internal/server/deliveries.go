package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ledger is the projection of deliveries as the API sees it.
type ledger struct {
	versions  *versions
	registrar *registrar
}

var _ api.Deliveries = (*ledger)(nil)

// List implements api.Deliveries.
func (l *ledger) List(_ context.Context, q api.DeliveryQuery) (api.DeliveryPage, error) {
	i := l.versions.acquire()
	defer i.use.leave()
	page, err := i.ledger.List(deliveries.Query{
		Connection: q.Connection, DeliveryID: q.DeliveryID, Repository: q.Repository, Outcome: q.Outcome,
		Since: q.Since, After: deliveries.Cursor(q.Cursor), Limit: q.Limit,
	})
	if errors.Is(err, deliveries.ErrCursor) {
		err = fmt.Errorf("%w: %w", api.ErrCursor, err)
	}
	if err != nil {
		return api.DeliveryPage{}, err
	}
	out := api.DeliveryPage{Deliveries: make([]*api.Delivery, len(page.Deliveries)), Next: string(page.Next)}
	for n, d := range page.Deliveries {
		out.Deliveries[n] = deliveryOf(i.catalog.Snapshot(), d)
	}
	return out, nil
}

// Delivery implements api.Deliveries.
func (l *ledger) Delivery(_ context.Context, at event.Position) (*api.Delivery, error) {
	i := l.versions.acquire()
	defer i.use.leave()
	d, err := i.ledger.Get(at)
	if err != nil {
		return nil, err
	}
	return deliveryOf(i.catalog.Snapshot(), d), nil
}

func deliveryOf(known *catalog.Snapshot, d *deliveries.Delivery) *api.Delivery {
	out := &api.Delivery{
		Position: d.Position, Source: d.Source, Connection: d.Connection, DeliveryID: d.DeliveryID, BodySHA256: d.BodySHA256,
		Repository: d.Repository, ReceivedAt: d.ReceivedAt, LoggedAt: d.LoggedAt, Duplicates: d.Duplicates, LastDuplicateAt: d.LastDuplicateAt,
		Outcome: d.Outcome, Reason: d.Reason, Of: d.Of, Suppressed: d.Suppressed, Pushes: make([]api.DeliveredPush, len(d.Pushes)),
	}
	if r, ok := known.ByID(d.Repository); ok {
		out.RepositoryName = r.Name
	}
	for i := range d.Pushes {
		out.Pushes[i] = pushOf(&d.Pushes[i])
	}
	return out
}

func pushOf(p *deliveries.Push) api.DeliveredPush {
	return api.DeliveredPush{
		Position: p.Position, Ref: p.Ref, Before: p.Before, After: p.After, Action: p.Action, Outcome: p.Outcome, Commit: p.Commit,
		Changes: p.Changes, Documents: p.Documents, Segments: p.Segments, Cause: p.Cause, Answered: p.Answered,
		DoneAt: p.DoneAt, SearchableAt: p.SearchableAt, Here: p.Here,
	}
}

// redeliveryPrefix begins the delivery IDs of redeliveries; the key of what is
// delivered again follows, and what tells two redeliveries of it apart.
const redeliveryPrefix = "redelivery-of-"

// Redeliver implements api.Deliveries.
func (l *ledger) Redeliver(ctx context.Context, at event.Position) (string, []event.Position, error) {
	i := l.versions.acquire()
	defer i.use.leave()
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
	positions, err := l.registrar.append(ctx, events...)
	return id, positions, err
}
