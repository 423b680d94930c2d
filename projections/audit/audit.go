package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/internal/registration"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// SchemaVersion is the version of the rows.
const SchemaVersion = 2

// Options configure a Projection.
type Options struct {
	// Topic is event.TopicAccounts or event.TopicAudit.
	Topic   event.Topic
	Store   *store.Store
	Decoder *projections.Decoder
	// Refused returns the reason why the record of event.TopicAccounts that is being
	// applied has no effect, or "" if it has one. The projection of accounts, which is
	// applied earlier, provides it. Required for that topic.
	Refused func(at event.Position) string
	// Retention is the time for which entries are kept, by the log's time. 0 keeps them
	// forever.
	Retention time.Duration
	// Registerer registers the metrics; optional.
	Registerer prometheus.Registerer
}

// Projection maintains the entries and the hash chain of one topic.
type Projection struct {
	o       Options
	topic   byte
	metrics *registration.Group

	mu struct {
		sync.Mutex
		// applied is the chain after the last Apply, current the one that readers see.
		applied, current *chainRow
		// changed is closed, and replaced, when current changes.
		changed chan struct{}
	}
}

var _ projections.Stateful = (*Projection)(nil)

// New returns the projection of a topic. The caller must close it before the store.
func New(o Options) (*Projection, error) {
	topic, known := topicByte(o.Topic)
	switch {
	case !known:
		return nil, fmt.Errorf("audit: topic %q has no entries", o.Topic)
	case o.Store == nil || o.Decoder == nil:
		return nil, errors.New("audit: want a store and a decoder")
	case topic == topicAccounts && o.Refused == nil:
		return nil, errors.New("audit: want to know which account events have no effect")
	case o.Retention < 0:
		return nil, fmt.Errorf("audit: retention of %s", o.Retention)
	}
	p := &Projection{o: o, topic: topic}
	p.mu.changed = make(chan struct{})
	var err error
	if p.mu.current, err = readChain(o.Store, topic); err != nil {
		return nil, err
	}
	p.metrics = newMetrics(o.Registerer, p)
	return p, nil
}

// Close unregisters the metrics.
func (p *Projection) Close() { p.metrics.Close() }

// Name implements projections.Projection.
func (p *Projection) Name() string {
	if p.topic == topicAccounts {
		return "auditaccounts"
	}
	return "audit"
}

// SchemaVersion implements projections.Projection.
func (p *Projection) SchemaVersion() int { return SchemaVersion }

// Apply implements projections.Projection.
func (p *Projection) Apply(_ context.Context, b *store.Batch, rec event.Record) error {
	if rec.Position.Topic != p.o.Topic || rec.Position.Partition != 0 {
		return fmt.Errorf("audit: record %s: want one of %s/0: %w", rec.Position, p.o.Topic, projections.ErrPoison)
	}
	ev, err := p.o.Decoder.Event(rec)
	if err != nil {
		return err
	}
	chain, err := readChain(b, p.topic)
	if err != nil {
		return err
	}
	c := &change{p: p, b: b, rec: rec, chain: chain, counts: map[string]int64{}}
	if err := c.apply(ev); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.applied = c.chain
	return nil
}

// Committed implements projections.Stateful.
func (p *Projection) Committed(int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.applied == nil {
		return
	}
	p.mu.current, p.mu.applied = p.mu.applied, nil
	close(p.mu.changed)
	p.mu.changed = make(chan struct{})
}

// Discarded implements projections.Stateful.
func (p *Projection) Discarded(int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.applied = nil
}

// Publish implements projections.Stateful. It does nothing, because readers read the
// store.
func (p *Projection) Publish(int32) {}

// currentChain returns the chain as of the last record.
func (p *Projection) currentChain() *chainRow {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.current
}

// change is the effect of one record.
type change struct {
	p     *Projection
	b     *store.Batch
	rec   event.Record
	chain *chainRow
	// counts holds the changes of counters, by key.
	counts map[string]int64
	// anchored reports that the record rewrites links. Then no links are pruned.
	anchored bool
}

func (c *change) apply(ev event.Event) error {
	if err := c.appendLink(ev); err != nil {
		return err
	}
	entries, err := c.collectEntries(ev)
	if err != nil {
		return err
	}
	for i := range entries {
		if err := c.add(i, &entries[i]); err != nil {
			return err
		}
	}
	if err := c.pruneExpired(); err != nil {
		return err
	}
	if err := c.writeCounts(); err != nil {
		return err
	}
	return writeRow(c.b, chainKey(c.p.topic), c.chain)
}

// collectEntries returns the entries of the record, or none for a group that was appended
// before.
func (c *change) collectEntries(ev event.Event) ([]entryRow, error) {
	if recorded, ok := ev.(*event.AuditRecorded); ok {
		repeated, err := c.isRepeated()
		if err != nil || repeated {
			return nil, err
		}
		return recordEntries(recorded), nil
	}
	if c.p.topic != topicAccounts {
		return nil, nil
	}
	return accountEntries(ev, c.p.o.Refused(c.rec.Position)), nil
}
