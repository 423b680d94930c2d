package numbers

import (
	"context"
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/internal/registration"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// SchemaVersion is the version of the rows.
const SchemaVersion = 1

// Options configure Numbers.
type Options struct {
	Store   *store.Store
	Decoder *projections.Decoder
	// Registerer registers the metrics; optional.
	Registerer prometheus.Registerer
}

// Numbers is the projection of the numbers, and serves reads of them.
type Numbers struct {
	decoder *projections.Decoder
	metrics *registration.Group
	// Limit is the highest number. Tests may lower it before the first record is applied.
	Limit int

	mu struct {
		sync.RWMutex
		repositories table[code.RepositoryID, code.RepositoryNumber]
		connections  table[string, code.ConnectionNumber]
		// staged is the assignment of the last Apply; nil once it is committed or
		// discarded.
		staged *assignment
	}
}

// assignment is the effect of one event: IDs that get the next numbers, in order.
type assignment struct {
	repositories []code.RepositoryID
	connections  []string
}

var (
	_ projections.Stateful = (*Numbers)(nil)
	_ projections.Owner    = (*Numbers)(nil)
)

// Open reads the numbers from the store. The caller must close Numbers before the store.
func Open(o Options) (*Numbers, error) {
	if o.Store == nil || o.Decoder == nil {
		return nil, errors.New("numbers: want a store and a decoder")
	}
	n := &Numbers{decoder: o.Decoder, Limit: code.MaxNumber}
	n.mu.repositories.init()
	n.mu.connections.init()
	if err := n.loadRows(o.Store); err != nil {
		return nil, err
	}
	n.metrics = newMetrics(o.Registerer, n)
	return n, nil
}

// Close unregisters the metrics.
func (n *Numbers) Close() { n.metrics.Close() }

// Name implements projections.Projection.
func (n *Numbers) Name() string { return "numbers" }

// SchemaVersion implements projections.Projection.
func (n *Numbers) SchemaVersion() int { return SchemaVersion }

// Family implements projections.Owner.
func (n *Numbers) Family() store.Family { return store.FamilyNumbers }

// Apply implements projections.Projection.
func (n *Numbers) Apply(_ context.Context, b *store.Batch, rec event.Record) error {
	if rec.Position.Topic != event.TopicAccounts {
		return nil
	}
	ev, err := n.decoder.Event(rec)
	if err != nil {
		return err
	}
	e, ok := ev.(*event.NumbersAssigned)
	if !ok {
		return nil
	}
	// Reading without the lock is safe: only this goroutine changes the tables, in
	// Committed.
	staged := &assignment{
		repositories: n.mu.repositories.missingIDs(e.Repositories, n.Limit),
		connections:  n.mu.connections.missingIDs(e.Connections, n.Limit),
	}
	for i, id := range staged.repositories {
		if err := b.Set(repositoryKey(id), rowOf(len(n.mu.repositories.ids)+1+i)); err != nil {
			return err
		}
	}
	for i, name := range staged.connections {
		if err := b.Set(connectionKey(name), rowOf(len(n.mu.connections.ids)+1+i)); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.staged = staged
	return nil
}

// Committed implements projections.Stateful. Readers see the numbers from here on.
func (n *Numbers) Committed(int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.staged == nil {
		return
	}
	for _, id := range n.mu.staged.repositories {
		n.mu.repositories.add(id)
	}
	for _, name := range n.mu.staged.connections {
		n.mu.connections.add(name)
	}
	n.mu.staged = nil
}

// Discarded implements projections.Stateful.
func (n *Numbers) Discarded(int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.staged = nil
}

// Publish implements projections.Stateful.
func (n *Numbers) Publish(int32) {}

// OfRepository returns the number of a repository, or 0 if it has none.
func (n *Numbers) OfRepository(id code.RepositoryID) code.RepositoryNumber {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.mu.repositories.numbers[id]
}

// Repository returns the repository with that number, or 0 if there is none.
func (n *Numbers) Repository(number code.RepositoryNumber) code.RepositoryID {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.mu.repositories.idOf(number)
}

// OfConnection returns the number of a connection, or 0 if it has none.
func (n *Numbers) OfConnection(name string) code.ConnectionNumber {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.mu.connections.numbers[name]
}
