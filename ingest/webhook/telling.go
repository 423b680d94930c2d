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

// Bounds of what is told of deliveries that led to no push.
const (
	// toldQueue bounds the events that wait for the log; further ones are dropped
	// and counted.
	toldQueue = 1024
	// toldGroup bounds those that are appended together.
	toldGroup = 64
)

// Why a delivery that led to no push is not told of.
const (
	untoldRate   = "rate"   // too many of the connection were refused
	untoldQueue  = "queue"  // too many wait for the log
	untoldAppend = "append" // the log did not take it, or it could not be written down
)

// tell queues what the log is told of a delivery that led to no push. It never
// waits: the sender's answer does not depend on it.
func (r *Receiver) tell(c *connection, in *ingest.Request, a answer, err error) {
	ev := &event.Delivery{Connection: c.Name, DeliveryID: a.DeliveryID, ReceivedAt: in.ReceivedAt}
	switch {
	case err == nil && a.Duplicate && len(a.Positions) > 0:
		ev.Outcome, ev.Of = event.DeliveryDuplicate, &a.Positions[0]
	case err == nil && a.taken != "":
		ev.Outcome, ev.Reason, ev.Of = event.DeliveryTaken, a.taken, &a.Positions[0]
	case err == nil && a.Ignored != "":
		ev.Outcome, ev.Reason = event.DeliveryIgnored, a.Ignored
	case isRefusal(err):
		suppressed, ok := c.refusals.take(in.ReceivedAt)
		if !ok {
			r.metrics.untold.WithLabelValues(untoldRate).Inc()
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
	case r.told <- untold{c, ev}:
	default:
		r.untell(untold{c, ev}, untoldQueue)
	}
}

// isRefusal reports whether the delivery came whole and was not taken for what it
// is. One that the log could not take is none: the sender comes again.
func isRefusal(err error) bool {
	for _, refusal := range []error{ingest.ErrUnauthenticated, ingest.ErrNotJSON, ingest.ErrInvalidPayload, errRefused, errUnknownRepository} {
		if errors.Is(err, refusal) && !errors.Is(err, errUnavailable) {
			return true
		}
	}
	return false
}

// untold is an event that the log does not have yet.
type untold struct {
	connection *connection
	ev         *event.Delivery
}

// untell counts an event that is dropped. A refusal counts among those that the
// next one of the connection tells of.
func (r *Receiver) untell(u untold, why string) {
	r.metrics.untold.WithLabelValues(why).Inc()
	if u.ev.Outcome == event.DeliveryRefused {
		u.connection.refusals.suppress(u.ev.Suppressed + 1)
	}
}

// Run appends what is to be told, until ctx ends, and then what still waits. It
// is called once; without it, deliveries are answered all the same.
func (r *Receiver) Run(ctx context.Context) error {
	for {
		select {
		case first := <-r.told:
			r.appendTold(ctx, r.waiting(first))
		case <-ctx.Done():
			r.appendRest(context.WithoutCancel(ctx))
			return nil
		}
	}
}

// appendRest tells what waits when the process stops, within one AppendTimeout.
func (r *Receiver) appendRest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.o.AppendTimeout)
	defer cancel()
	for {
		select {
		case first := <-r.told:
			r.appendTold(ctx, r.waiting(first))
		default:
			return
		}
	}
}

// waiting returns first and what waits behind it.
func (r *Receiver) waiting(first untold) []untold {
	group := []untold{first}
	for len(group) < toldGroup {
		select {
		case next := <-r.told:
			group = append(group, next)
		default:
			return group
		}
	}
	return group
}

// appendTold appends a group, one append for each partition. What the log does not
// take is dropped: these events are not worth holding up others.
func (r *Receiver) appendTold(ctx context.Context, group []untold) {
	ctx, cancel := context.WithTimeout(ctx, r.o.AppendTimeout)
	defer cancel()
	records, events := map[int32][]event.Record{}, map[int32][]untold{}
	drop := func(err error, events ...untold) {
		r.o.Logger.LogAttrs(ctx, slog.LevelWarn, "the log was not told of deliveries that led to no push",
			slog.Int("deliveries", len(events)), slog.Any("error", err))
		for _, u := range events {
			r.untell(u, untoldAppend)
		}
	}
	for _, u := range group {
		partition, rec, err := r.toldRecord(ctx, u)
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

// toldRecord returns the record of an event, and its partition.
func (r *Receiver) toldRecord(ctx context.Context, u untold) (partition int32, rec event.Record, err error) {
	if u.ev.Of != nil {
		partition = u.ev.Of.Partition
	} else if partition, err = r.o.PartitionOf(ctx, []byte(u.ev.Connection+"\x00"+u.ev.DeliveryID)); err != nil {
		return 0, rec, err
	}
	rec, err = event.Encode(event.Envelope{ID: rand.Text(), Source: u.connection.source(), Time: u.ev.ReceivedAt}, u.ev)
	return partition, rec, err
}
