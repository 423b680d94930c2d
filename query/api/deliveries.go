package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/ledger"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Deliveries is the ledger of deliveries and their outcomes. Errors that wrap
// code.ErrNotFound become a 404, failure.ErrConflict a 409, failure.ErrUnavailable a 503.
type Deliveries interface {
	// List returns a page, newest first. An error that wraps failure.ErrCursor becomes a 400.
	List(ctx context.Context, q ledger.Query) (ledger.Page, error)
	// Delivery returns the delivery whose first event is at the position.
	Delivery(ctx context.Context, at event.Position) (*ledger.Delivery, error)
	// Redeliver appends a request to check each ref of the delivery again, under a
	// delivery ID that refers to the original, and returns once it is durable. A delivery
	// that led to no push fails with failure.ErrConflict.
	Redeliver(ctx context.Context, at event.Position) (deliveryID string, positions []event.Position, err error)
}

// maxCursorBytes bounds the cursor of a list.
const maxCursorBytes = 16 << 10

func (s *Server) listDeliveries(r *http.Request) (*reply, error) {
	p := queryParams(r)
	q := ledger.Query{
		Connection: p.textParam("connection", event.MaxConnectionBytes), DeliveryID: p.textParam("deliveryId", event.MaxDeliveryIDBytes),
		Outcome: p.wordParam("outcome"), Since: p.timeParam("since"), Cursor: p.textParam("cursor", maxCursorBytes),
		Limit: p.intParam("limit"),
	}
	repository := p.textParam("repository", code.MaxNameBytes)
	if p.err != nil {
		return nil, p.err
	}
	var err error
	if q.Repository, err = s.repositoryNamed(r.Context(), repository); err != nil {
		return nil, err
	}
	page, err := s.o.Deliveries.List(r.Context(), q)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	out := wire.DeliveryPage{Deliveries: make([]wire.Delivery, len(page.Deliveries)), NextCursor: page.Next}
	for i, d := range page.Deliveries {
		out.Deliveries[i] = s.newDelivery(d)
	}
	return okReply(out), nil
}

// repositoryNamed returns the repository ID for a filter: the number of a repository that
// is or was registered, or the full name of a registered one.
func (s *Server) repositoryNamed(ctx context.Context, name string) (code.RepositoryID, error) {
	if name == "" {
		return 0, nil
	}
	if number, err := strconv.ParseUint(name, 10, 52); err == nil {
		if id := s.repositoryWith(number); id != 0 {
			return id, nil
		}
		return 0, fmt.Errorf("repository %d: %w", number, code.ErrNotFound)
	}
	known, err := s.o.Catalog.Find(ctx, code.Repository{Name: name})
	if err != nil {
		return 0, fmt.Errorf("repository %.80q: %w", name, err)
	}
	return known.ID, nil
}

func (s *Server) showDelivery(r *http.Request) (*reply, error) {
	at, err := deliveryPosition(r)
	if err != nil {
		return nil, err
	}
	d, err := s.o.Deliveries.Delivery(r.Context(), at)
	if err != nil {
		return nil, err
	}
	return okReply(s.newDelivery(d)), nil
}

func (s *Server) redeliverDelivery(r *http.Request) (*reply, error) {
	at, err := deliveryPosition(r)
	if err != nil {
		return nil, err
	}
	id, positions, err := s.o.Deliveries.Redeliver(r.Context(), at)
	if err != nil {
		return nil, fmt.Errorf("redeliver: %w", err)
	}
	return acceptedReply(wire.Redelivered{DeliveryID: id, Positions: wire.PositionsOf(positions)}), nil
}

// deliveryPosition reads {deliveryKey} from the path: partition-offset.
func deliveryPosition(r *http.Request) (event.Position, error) {
	text := mux.Vars(r)["deliveryKey"]
	left, right, _ := strings.Cut(text, "-")
	partition, err1 := strconv.ParseUint(left, 10, 31)
	offset, err2 := strconv.ParseUint(right, 10, 63)
	if err1 != nil || err2 != nil {
		return event.Position{}, fmt.Errorf("%w: deliveryKey: want partition-offset, such as 2-170, have %.40q", errPathParams, text)
	}
	return event.Position{Topic: event.TopicEvents, Partition: int32(partition), Offset: event.Offset(offset)}, nil
}

// spellDeliveryKey formats a position for deliveryPosition.
func spellDeliveryKey(at event.Position) string {
	return fmt.Sprintf("%d-%d", at.Partition, at.Offset)
}

func (s *Server) newDelivery(d *ledger.Delivery) wire.Delivery {
	out := wire.Delivery{
		ID: spellDeliveryKey(d.Position), Position: wire.PositionOf(d.Position), Source: d.Source,
		Connection: d.Connection, DeliveryID: d.DeliveryID, BodySHA256: d.BodySHA256, RepoID: s.numberOf(d.Repository), RepoName: d.RepositoryName,
		ReceivedAt: wire.At(d.ReceivedAt), LoggedAt: wire.At(d.LoggedAt), Outcome: wire.DeliveryOutcome(overallOutcome(d)), Reason: failure.Clean(d.Reason, failure.MaxDetailBytes),
		DuplicateOf: wireOptional(d.Of), Suppressed: d.Suppressed, Pushes: make([]wire.DeliveredPush, len(d.Pushes)),
	}
	if d.Outcome == string(event.DeliveryTaken) {
		out.DuplicateOf, out.TakenAs = wire.Position{}, out.DuplicateOf
	}
	if kind, _, ok := strings.Cut(strings.TrimPrefix(d.Source, "/webhooks/"), "/"); ok && strings.HasPrefix(d.Source, "/webhooks/") {
		verified := d.Outcome != string(event.DeliveryRefused)
		out.Kind, out.Verified = wire.CodeHostType(kind), &verified
	}
	if d.Duplicates > 0 {
		out.Duplicates = wire.Duplicates{Count: d.Duplicates, LastAt: wire.At(d.LastDuplicateAt)}
	}
	for i := range d.Pushes {
		out.Pushes[i] = newDeliveredPush(&d.Pushes[i])
	}
	return out
}

// overallOutcome returns the outcome of a whole delivery: waiting as long as one of its
// pushes waits, failed if one failed, and indexed if one was indexed.
func overallOutcome(d *ledger.Delivery) string {
	if d.Outcome != "" || len(d.Pushes) == 0 {
		return d.Outcome
	}
	for _, outcome := range []string{ledger.OutcomeWaiting, ledger.OutcomeFailed, ledger.OutcomeIndexed} {
		for i := range d.Pushes {
			if d.Pushes[i].Outcome == outcome {
				return outcome
			}
		}
	}
	return d.Pushes[0].Outcome
}

func newDeliveredPush(p *ledger.Push) wire.DeliveredPush {
	out := wire.DeliveredPush{
		Position: wire.PositionOf(p.Position), Ref: string(p.Ref), Before: string(p.Before), After: string(p.After),
		Action: wire.DeliveredPushAction(p.Action), Outcome: wire.DeliveryOutcome(p.Outcome), Reason: failure.Clean(p.Reason, failure.MaxDetailBytes),
		DeadLetter: wireOptional(p.DeadLetter), Commit: string(p.Commit), ChangedFiles: p.Changes, NewDocuments: p.Documents, Segments: p.Segments,
		IndexedWith: wireOptional(p.Cause), AnsweredBy: wireOptional(p.Answered), DoneAt: wire.At(p.DoneAt), SearchableAt: wire.At(p.SearchableAt),
	}
	if p.Outcome == ledger.OutcomeFailed {
		out.Code, out.Remedy = wire.FailureCode(p.Code), failure.Describe(p.Code).Message()
	}
	if !p.SearchableAt.IsZero() {
		out.SearchableAtClock = wire.DeliveredPushSearchableAtClockLog
		if p.Here {
			out.SearchableAtClock = wire.DeliveredPushSearchableAtClockServer
		}
	}
	return out
}
