package webhook

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Limits on the events that record deliveries without a push.
const (
	// maxQueuedDeliveries bounds the events that wait for the log; more are dropped and
	// counted.
	maxQueuedDeliveries = 1024
	// maxGroupDeliveries bounds the events that are appended together.
	maxGroupDeliveries = 64
)

// Reasons why a delivery without a push is not recorded.
const (
	droppedRate   = "rate"   // too many refusals on the connection
	droppedQueue  = "queue"  // too many events wait for the log
	droppedAppend = "append" // the event could not be encoded or appended
)

// queueDelivery queues the event that records a delivery without a push. It never blocks:
// the response to the sender does not depend on it.
func (r *Receiver) queueDelivery(c *connection, in *ingest.Request, a answer, err error) {
	ev := &event.Delivery{Connection: c.Name, DeliveryID: a.DeliveryID, ReceivedAt: in.ReceivedAt}
	switch {
	case err == nil && a.Duplicate && len(a.Positions) > 0:
		ev.Outcome, ev.Of = event.DeliveryDuplicate, &a.Positions[0]
	case err == nil && a.Hint != "" && len(a.Positions) == 0:
		ev.Outcome, ev.Reason = event.DeliveryTaken, a.Hint
	case err == nil && a.Ignored != "":
		ev.Outcome, ev.Reason = event.DeliveryIgnored, a.Ignored
	case isRefusal(err):
		suppressed, ok := c.refusalLimiter.tryTake(in.ReceivedAt)
		if !ok {
			r.metrics.dropped.WithLabelValues(droppedRate).Inc()
			return
		}
		ev.Outcome, ev.Reason, ev.Suppressed = event.DeliveryRefused, err.Error(), suppressed
		ev.DeliveryID = c.translator.DeliveryID(in)
	default:
		return
	}
	sum := sha256.Sum256(in.Body)
	ev.BodySHA256 = hex.EncodeToString(sum[:])
	ev.Reason = ingest.Text(ev.Reason, event.MaxReasonBytes)
	if ev.DeliveryID = ingest.Text(ev.DeliveryID, event.MaxDeliveryIDBytes); ev.DeliveryID == "" {
		ev.DeliveryID = newDeliveryID()
	}
	select {
	case r.queued <- queuedDelivery{c, ev}:
	default:
		r.countDropped(queuedDelivery{c, ev}, droppedQueue)
	}
}

// isRefusal reports whether the delivery arrived completely and was refused for its
// content. A delivery that could not be appended to the log is not a refusal: the sender
// retries it.
func isRefusal(err error) bool {
	for _, refusal := range []error{ingest.ErrUnauthenticated, ingest.ErrNotJSON, ingest.ErrInvalidPayload, errRefused, errUnknownRepository} {
		if errors.Is(err, refusal) && !errors.Is(err, errUnavailable) {
			return true
		}
	}
	return false
}

// queuedDelivery is an event that waits to be appended.
type queuedDelivery struct {
	connection *connection
	ev         *event.Delivery
}

// countDropped counts an event that is dropped. A dropped refusal is added to the
// suppressed count of the connection's next one.
func (r *Receiver) countDropped(u queuedDelivery, why string) {
	r.metrics.dropped.WithLabelValues(why).Inc()
	if u.ev.Outcome == event.DeliveryRefused {
		u.connection.refusalLimiter.addSuppressed(u.ev.Suppressed + 1)
	}
}

// Run appends queued events until ctx ends, and then those still in the queue. It must be
// called at most once. Deliveries are answered without it, too.
func (r *Receiver) Run(ctx context.Context) error {
	for {
		select {
		case first := <-r.queued:
			r.appendDeliveries(ctx, r.takeGroup(first))
		case <-ctx.Done():
			r.appendRest(context.WithoutCancel(ctx))
			return nil
		}
	}
}

// appendRest appends the events still queued at shutdown, within one AppendTimeout.
func (r *Receiver) appendRest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.o.AppendTimeout)
	defer cancel()
	for {
		select {
		case first := <-r.queued:
			r.appendDeliveries(ctx, r.takeGroup(first))
		default:
			return
		}
	}
}

// takeGroup returns first and the events queued after it, up to toldGroup.
func (r *Receiver) takeGroup(first queuedDelivery) []queuedDelivery {
	group := []queuedDelivery{first}
	for len(group) < maxGroupDeliveries {
		select {
		case next := <-r.queued:
			group = append(group, next)
		default:
			return group
		}
	}
	return group
}

// appendDeliveries appends a group, with one append per partition. Events that the log
// rejects are dropped: they are not worth delaying the rest.
func (r *Receiver) appendDeliveries(ctx context.Context, group []queuedDelivery) {
	ctx, cancel := context.WithTimeout(ctx, r.o.AppendTimeout)
	defer cancel()
	records, events := map[int32][]event.Record{}, map[int32][]queuedDelivery{}
	drop := func(err error, events ...queuedDelivery) {
		r.o.Logger.LogAttrs(ctx, slog.LevelWarn, "dropping delivery events that were not appended to the log",
			slog.Int("deliveries", len(events)), slog.Any("error", err))
		for _, u := range events {
			r.countDropped(u, droppedAppend)
		}
	}
	for _, u := range group {
		partition, rec, err := r.deliveryRecord(ctx, u)
		if err != nil {
			drop(err, u)
			continue
		}
		records[partition], events[partition] = append(records[partition], rec), append(events[partition], u)
	}
	for partition := range records {
		if _, err := r.o.Appender.Append(ctx, event.TopicEvents, partition, records[partition]...); err != nil {
			drop(err, events[partition]...)
		}
	}
}

// deliveryRecord returns the record of an event and its partition.
func (r *Receiver) deliveryRecord(ctx context.Context, u queuedDelivery) (partition int32, rec event.Record, err error) {
	if u.ev.Of != nil {
		partition = u.ev.Of.Partition
	} else if partition, err = r.o.PartitionOf(ctx, []byte(u.ev.Connection+"\x00"+u.ev.DeliveryID)); err != nil {
		return 0, rec, err
	}
	rec, err = event.Encode(event.Envelope{ID: rand.Text(), Source: u.connection.eventSource(), Time: u.ev.ReceivedAt}, u.ev)
	return partition, rec, err
}
