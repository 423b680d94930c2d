package deliveries

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// SchemaVersion is the version of the rows. Version 2 added d i.
const SchemaVersion = 2

// Bounds of the ledger.
const (
	// MaxPushes bounds the stored pushes of a partition. A delivery without pushes counts
	// as one. The rows of a push use about 600 bytes.
	MaxPushes = 50_000
	// MaxPushesPerDelivery bounds the pushes of one entry; more begin another entry.
	// Receivers do not accept more in one delivery.
	MaxPushesPerDelivery = 1000
	// MaxPublished bounds the revisions whose publication time is kept in memory.
	MaxPublished = 10_000
)

// Options configure a Ledger.
type Options struct {
	Store   *store.Store
	Decoder *projections.Decoder
	// Now is the clock for the times when revisions became searchable in this process; no
	// row depends on it. Default: time.Now.
	Now func() time.Time
	// Registerer registers the metrics; optional.
	Registerer prometheus.Registerer
}

// Ledger is the projection of deliveries.
type Ledger struct {
	store        *store.Store
	decoder      *projections.Decoder
	now          func() time.Time
	metrics      *metrics
	publishTimes *publishTimes

	mu struct {
		sync.Mutex
		// applied holds, by partition, the effect of the last Apply; committed holds the
		// effects to publish.
		applied, committed map[int32]*effect
		waiting            map[int32]int
	}
}

// effect holds the changes of records in addition to their rows.
type effect struct {
	// revisions are the positions of RevisionIndexed events.
	revisions []event.Position
	outcomes  map[string]int
	waiting   int
}

var (
	_ projections.Stateful = (*Ledger)(nil)
	_ projections.Owner    = (*Ledger)(nil)
)

// Open opens the ledger of a store. The caller must close the Ledger before the store.
func Open(o Options) (*Ledger, error) {
	if o.Store == nil || o.Decoder == nil {
		return nil, errors.New("deliveries: want a store and a decoder")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Ledger{store: o.Store, decoder: o.Decoder, now: o.Now, publishTimes: newPublishTimes()}
	l.mu.applied, l.mu.committed, l.mu.waiting = map[int32]*effect{}, map[int32]*effect{}, map[int32]int{}
	err := eachCounters(o.Store, func(partition int32, row *countersRow) { l.mu.waiting[partition] = row.Waiting })
	if err != nil {
		return nil, err
	}
	l.metrics = newMetrics(o.Registerer, l)
	return l, nil
}

// Close unregisters the metrics.
func (l *Ledger) Close() { l.metrics.group.Close() }

// Name implements projections.Projection.
func (l *Ledger) Name() string { return "deliveries" }

// SchemaVersion implements projections.Projection.
func (l *Ledger) SchemaVersion() int { return SchemaVersion }

// Family implements projections.Owner.
func (l *Ledger) Family() store.Family { return store.FamilyDeliveries }

// Continue makes l share the publication times of from, including later ones of both,
// when l replaces from in another version of the projections. It must be called before l
// has readers.
func (l *Ledger) Continue(from *Ledger) { l.publishTimes = from.publishTimes }

// Apply implements projections.Projection.
func (l *Ledger) Apply(_ context.Context, b *store.Batch, rec event.Record) error {
	ev, err := l.decoder.Event(rec)
	if err != nil {
		return err
	}
	c := &change{b: b, at: rec.Position, loggedAt: rec.Time, effect: &effect{outcomes: map[string]int{}}}
	switch e := ev.(type) {
	case *event.Push:
		err = c.withCounters(func() error { return c.applyPush(e, event.SourceOf(rec)) })
	case *event.Delivery:
		err = c.withCounters(func() error { return c.applyDelivery(e, event.SourceOf(rec)) })
	case *event.RevisionIndexed:
		c.effect.revisions = append(c.effect.revisions, rec.Position)
		err = c.withCounters(func() error { return c.applyIndexed(e) })
	case *event.PushesHandled:
		err = c.withCounters(func() error { return c.applyHandled(e) })
	default:
		return nil
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.applied[rec.Position.Partition] = c.effect
	return nil
}

// Committed implements projections.Stateful.
func (l *Ledger) Committed(partition int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	applied := l.mu.applied[partition]
	if applied == nil {
		return
	}
	delete(l.mu.applied, partition)
	for outcome, n := range applied.outcomes {
		l.metrics.outcomes.WithLabelValues(outcome).Add(float64(n))
	}
	if waits := l.mu.committed[partition]; waits != nil {
		applied.revisions = append(waits.revisions, applied.revisions...)
	}
	l.mu.committed[partition] = applied
}

// Discarded implements projections.Stateful.
func (l *Ledger) Discarded(partition int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.mu.applied, partition)
}

// Publish implements projections.Stateful. The ledger is the last projection of a Runner,
// so all changes that the other projections published before are searchable now.
func (l *Ledger) Publish(partition int32) {
	l.mu.Lock()
	committed := l.mu.committed[partition]
	delete(l.mu.committed, partition)
	if committed != nil {
		l.mu.waiting[partition] = committed.waiting
	}
	l.mu.Unlock()
	if committed != nil && len(committed.revisions) > 0 {
		l.publishTimes.add(committed.revisions, l.now())
	}
}

// countWaiting returns the number of pushes without an answer.
func (l *Ledger) countWaiting() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, waiting := range l.mu.waiting {
		n += waiting
	}
	return n
}
