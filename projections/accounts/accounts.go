package accounts

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// SchemaVersion is the version of the rows and of the rules, because other rules yield
// other rows from the same log.
const SchemaVersion = 4

// name is the name of the projection.
const name = "accounts"

// Options configure a Directory.
type Options struct {
	Store   *store.Store
	Decoder *projections.Decoder
	// Registerer registers the metrics; optional.
	Registerer prometheus.Registerer
}

// Directory is the projection of the accounts, and serves reads of them.
type Directory struct {
	decoder *projections.Decoder
	metrics *metrics

	mu struct {
		sync.RWMutex
		state *state
		// staged is the change of the last Apply; nil once it is committed or discarded.
		staged *change
		// next is the offset after the last applied record.
		next    event.Offset
		refused recentRefusals
		// access is the published map; that of the state may be newer.
		access map[code.RepositoryID]*account.Access
		hosts  hostAccess
		// users are sorted; nil if they must be sorted again.
		users []*account.User
		wait  func(ctx context.Context, positions ...event.Position) error
	}
}

var (
	_ projections.Stateful = (*Directory)(nil)
	_ projections.Owner    = (*Directory)(nil)
)

// Open reads the accounts from the store. It returns projections.ErrSchema for rows of
// another version. The caller must close the Directory before the store.
func Open(o Options) (*Directory, error) {
	if o.Store == nil || o.Decoder == nil {
		return nil, errors.New("accounts: want a store and a decoder")
	}
	// Check before reading rows, which another version may have written in another
	// format.
	if version, err := o.Store.Schema(name); err != nil || version != 0 && version != SchemaVersion {
		return nil, errors.Join(err, fmt.Errorf("accounts: rows of version %d, this program writes %d: %w", version, SchemaVersion, projections.ErrSchema))
	}
	d := &Directory{decoder: o.Decoder}
	d.mu.state = newState()
	d.mu.refused.why = map[event.Offset]Refusal{}
	if err := d.loadRows(o.Store); err != nil {
		return nil, err
	}
	var err error
	if d.mu.next, err = o.Store.TopicCheckpoint(event.TopicAccounts, 0); err != nil {
		return nil, err
	}
	if held := d.mu.refused.offsets; len(held) >= MaxRefusals {
		d.mu.refused.forgotten = held[0]
	}
	d.Publish(0)
	d.metrics = newMetrics(o.Registerer, d)
	return d, nil
}

// Close unregisters the metrics.
func (d *Directory) Close() { d.metrics.group.Close() }

// Follow sets the function with which the Directory waits for a record:
// projections.Runner.WaitFor of the Runner that applies it. Await fails until it is set.
func (d *Directory) Follow(wait func(ctx context.Context, positions ...event.Position) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.wait = wait
}

// Name implements projections.Projection.
func (d *Directory) Name() string { return name }

// SchemaVersion implements projections.Projection.
func (d *Directory) SchemaVersion() int { return SchemaVersion }

// Family implements projections.Owner.
func (d *Directory) Family() store.Family { return store.FamilyAccounts }

// Apply implements projections.Projection.
func (d *Directory) Apply(_ context.Context, b *store.Batch, rec event.Record) error {
	if rec.Position.Topic != event.TopicAccounts {
		return nil
	}
	ev, err := d.decoder.Event(rec)
	if err != nil {
		return err
	}
	// Reading without the lock is safe: only this goroutine changes the state, in
	// Committed.
	c := &change{b: b, s: d.mu.state, at: rec.Position.Offset}
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.mu.staged = c
	}()
	now, ok := timeOf(ev)
	if !ok {
		return nil
	}
	if err := c.dropExpired(now); err != nil {
		return err
	}
	why, err := c.apply(ev)
	if err != nil || why == "" {
		return err
	}
	return c.recordRefusal(&d.mu.refused, why)
}

// Committed implements projections.Stateful. From here on readers see the change, except
// in the results of Access and HostAccess.
func (d *Directory) Committed(int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.mu.staged
	if c == nil {
		return
	}
	for _, f := range c.effects {
		f(d.mu.state)
	}
	if c.refusal != "" {
		if len(d.mu.refused.offsets) >= MaxRefusals {
			d.mu.refused.dropOldest()
		}
		d.mu.refused.add(c.at, c.refusal)
		d.metrics.refused.WithLabelValues(string(c.refusal)).Inc()
	}
	if c.users {
		d.mu.users = nil
	}
	d.mu.next, d.mu.staged = c.at+1, nil
}

// Discarded implements projections.Stateful.
func (d *Directory) Discarded(int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.mu.staged; c != nil {
		for _, x := range c.takenExpiries {
			d.mu.state.expiries.add(x.at, x.kind, x.id)
		}
	}
	d.mu.staged = nil
}

// Publish implements projections.Stateful.
func (d *Directory) Publish(int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.state.rebuildExpiries()
	if !d.mu.state.accessTaken {
		d.mu.access, d.mu.state.accessTaken = d.mu.state.access, true
	}
	if !d.mu.state.hosts.taken {
		d.mu.state.hosts.taken = true
		d.mu.hosts = d.mu.state.hosts
	}
}
