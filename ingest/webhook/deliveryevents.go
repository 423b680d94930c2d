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

// Limits of the recording of deliveries that led to no push.
const (
	// toldQueue bounds the events that wait for the log; further ones are dropped
	// and counted.
	maxQueuedDeliveries = 1024
	// toldGroup bounds those that are appended together.
	maxGroupDeliveries = 64
)

// Reasons why a delivery that led to no push is not recorded.
const (
	droppedRate   = "rate"   // too many of the connection were refused
	droppedQueue  = "queue"  // too many wait for the log
	droppedAppend = "append" // the log did not take it, or it could not be written down
)

// queueDelivery queues the event that records a delivery without a push. It never blocks:
// the response to the sender does not depend on it.
func (r *Receiver) queueDelivery(c *connection, in *ingest.Request, a answer, err error) {
	ev := &event.Delivery{Connection: c.Name, DeliveryID: a.DeliveryID, ReceivedAt: in.ReceivedAt}
	switch {
	case err == nil && a.Duplicate && len(a.Positions) > 0:
		ev.Outcome, ev.Of = event.DeliveryDuplicate, &a.Positions[0]
	case err == nil && a.appended != "":
		ev.Outcome, ev.Reason, ev.Of = event.DeliveryTaken, a.appended, &a.Positions[0]
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
// content. A delivery that the log could not append is not refused: the sender
// retries it.
func isRefusal(err error) bool {
	for _, refusal := range []error{ingest.ErrUnauthenticated, ingest.ErrNotJSON, ingest.ErrInvalidPayload, errRefused, errUnknownRepository} {
		if errors.Is(err, refusal) && !errors.Is(err, errUnavailable) {
			return true
		}
	}
	return false
}

// queuedDelivery is an event that is not in the log yet.
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

// Run appends the queued events until ctx ends, and then those that are still
// queued. It is called once; without it, deliveries are answered all the same.
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

// appendDeliveries appends a group, one append for each partition. What the log does not
// take is dropped: these events are not worth holding up others.
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

// deliveryRecord returns the record of an event, and its partition.
func (r *Receiver) deliveryRecord(ctx context.Context, u queuedDelivery) (partition int32, rec event.Record, err error) {
	if u.ev.Of != nil {
		partition = u.ev.Of.Partition
	} else if partition, err = r.o.PartitionOf(ctx, []byte(u.ev.Connection+"\x00"+u.ev.DeliveryID)); err != nil {
		return 0, rec, err
	}
	rec, err = event.Encode(event.Envelope{ID: rand.Text(), Source: u.connection.eventSource(), Time: u.ev.ReceivedAt}, u.ev)
	return partition, rec, err
}
