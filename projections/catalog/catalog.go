package catalog

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/internal/accept"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// SchemaVersion is the version of the rows.
const SchemaVersion = 1

// Options configure a Catalog.
type Options struct {
	Store   *store.Store
	Decoder *projections.Decoder
	// Logger is optional.
	Logger *slog.Logger
	// Registerer registers the metrics; optional.
	Registerer prometheus.Registerer
}

// Catalog is the projection of repositories and refs.
type Catalog struct {
	store    *store.Store
	decoder  *projections.Decoder
	log      *slog.Logger
	metrics  *metrics
	snapshot atomic.Pointer[Snapshot]

	mu struct {
		sync.Mutex
		// applied holds, by partition, the changes of the last Apply; committed holds the
		// changes to publish. A Repository without a name is removed.
		applied, committed map[int32]map[code.RepositoryID]*Repository
	}
}

var (
	_ projections.Stateful = (*Catalog)(nil)
	_ projections.Owner    = (*Catalog)(nil)
)

// Open reads the repositories from the store. The caller must close the Catalog before
// the store.
func Open(o Options) (*Catalog, error) {
	if o.Store == nil || o.Decoder == nil {
		return nil, errors.New("catalog: want a store and a decoder")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Catalog{store: o.Store, decoder: o.Decoder, log: o.Logger}
	c.mu.applied = map[int32]map[code.RepositoryID]*Repository{}
	c.mu.committed = map[int32]map[code.RepositoryID]*Repository{}
	all, err := loadRepositories(o.Store)
	if err != nil {
		return nil, err
	}
	marks, err := loadMarks(o.Store)
	if err != nil {
		return nil, err
	}
	c.snapshot.Store(newSnapshot(all, marks))
	c.metrics = newMetrics(o.Registerer, c)
	return c, nil
}

// Close unregisters the metrics. Snapshots stay usable.
func (c *Catalog) Close() { c.metrics.group.Close() }

func loadRepositories(s *store.Store) ([]*Repository, error) {
	prefix := []byte{byte(store.FamilyCatalog), kindRepository}
	it, err := s.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return nil, err
	}
	var all []*Repository
	for ok := it.First(); ok; ok = it.Next() {
		var row repositoryRow
		if err := json.Unmarshal(it.Value(), &row); err != nil {
			return nil, errors.Join(fmt.Errorf("catalog: row %q: %w", it.Key(), err), it.Close())
		}
		all = append(all, row.toRepository())
	}
	return all, it.Close()
}

// loadMarks returns the private marks of removed repositories.
func loadMarks(s *store.Store) (map[code.RepositoryID]event.Offset, error) {
	prefix := []byte{byte(store.FamilyCatalog), kindMark}
	it, err := s.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return nil, err
	}
	marks := map[code.RepositoryID]event.Offset{}
	for ok := it.First(); ok; ok = it.Next() {
		mark, err := decodeMark(it.Value())
		if err != nil {
			return nil, errors.Join(err, it.Close())
		}
		marks[code.RepositoryID(binary.BigEndian.Uint64(it.Key()[len(prefix):]))] = mark
	}
	return marks, it.Close()
}

// Name implements projections.Projection.
func (c *Catalog) Name() string { return "catalog" }

// SchemaVersion implements projections.Projection.
func (c *Catalog) SchemaVersion() int { return SchemaVersion }

// Family implements projections.Owner.
func (c *Catalog) Family() store.Family { return store.FamilyCatalog }

// Apply implements projections.Projection.
func (c *Catalog) Apply(_ context.Context, b *store.Batch, rec event.Record) error {
	ev, err := c.decoder.Event(rec)
	if err != nil {
		return err
	}
	switch e := ev.(type) {
	case *event.RepositoryRegistered:
		return c.applyRegistered(b, rec.Position, e)
	case *event.RepositoryChanged:
		return c.applyChanged(b, rec.Position, e)
	case *event.RepositoryRemoved:
		return c.removeRepository(b, rec.Position, e.Repository)
	case *event.Push:
		return c.applyPush(b, rec.Position, e)
	case *event.RevisionIndexed:
		return c.applyIndexed(b, rec.Position, e)
	case *event.ScipUploaded:
		return c.applyScipUpload(b, rec.Position, e)
	case *event.ScipDeleted:
		return c.applyScipDeletion(b, rec.Position, e)
	case *event.SubmodulesListed:
		return c.applySubmodules(b, rec.Position, e)
	case *event.PinsChanged:
		return c.applyPins(b, rec.Position, e)
	case *event.ErasureRequested:
		return c.keepScipUploads(b, rec.Position, e.Repository, func(ScipUpload) bool { return false })
	}
	return nil
}

func (c *Catalog) applyRegistered(b *store.Batch, at event.Position, ev *event.RepositoryRegistered) error {
	row := repositoryRow{Since: at, RegisteredAt: ev.At}
	found, err := readRow(b, repositoryKey(ev.Repository.ID), &row)
	if err != nil || found && c.refuseCollision(row.Repository, ev.Repository) {
		return err
	}
	if !found { // a repository that was removed keeps what was said of its visibility
		if row.PrivateMark, err = readMark(b, ev.Repository.ID); err != nil {
			return err
		}
		row.Repository.Private = row.PrivateMark > 0
		if err := b.Delete(markKey(ev.Repository.ID)); err != nil {
			return err
		}
	}
	row.describe(at, ev.Repository, ev.PrivateMark, ev.At)
	return c.write(b, at, &row)
}

func (c *Catalog) applyChanged(b *store.Batch, at event.Position, ev *event.RepositoryChanged) error {
	return c.updateRow(b, at, ev.Repository.ID, func(row *repositoryRow) bool {
		if c.refuseCollision(row.Repository, ev.Repository) {
			return false
		}
		row.describe(at, ev.Repository, ev.PrivateMark, ev.At)
		return true
	})
}

// describe replaces the description of the repository with that of an event.
func (row *repositoryRow) describe(at event.Position, next code.Repository, seen *event.Offset, when time.Time) {
	next, row.PrivateMark = accept.Visibility(row.Repository, accept.Merge(row.Repository, next), row.PrivateMark, seen, at)
	row.Repository, row.ChangedAt = next, when
}

// applyPush makes the repository private if the delivery of the push said so.
func (c *Catalog) applyPush(b *store.Batch, at event.Position, ev *event.Push) error {
	if !ev.Private {
		return nil
	}
	return c.updateRow(b, at, ev.Repository, func(row *repositoryRow) bool {
		if !accept.Push(ev, row.Repository) {
			return false
		}
		if !row.Repository.Private {
			row.Repository.Private, row.ChangedAt = true, ev.ReceivedAt
		}
		row.PrivateMark = at.Offset + 1
		return true
	})
}

// refuseCollision reports whether next is another repository with the same ID, and counts
// and logs that case.
func (c *Catalog) refuseCollision(known, next code.Repository) bool {
	if !accept.Collides(known, next) {
		return false
	}
	c.metrics.collisions.Inc()
	c.log.Error("two repositories have the same ID; the second one is rejected; register it under another identity",
		"repository", known.ID.String(), "known", known.Name, "refused", next.Name)
	return true
}

func (c *Catalog) removeRepository(b *store.Batch, at event.Position, id code.RepositoryID) error {
	prefix := refPrefix(id)
	if err := b.DeleteRange(prefix, store.Successor(prefix)); err != nil {
		return err
	}
	var row repositoryRow
	found, err := readRow(b, repositoryKey(id), &row)
	if err != nil || !found {
		return err
	}
	removed := &Repository{PrivateMark: row.PrivateMark}
	removed.ID = id
	c.stageRepository(at.Partition, id, removed)
	if row.PrivateMark > 0 {
		if err := b.Set(markKey(id), store.AppendUint64(nil, uint64(row.PrivateMark))); err != nil {
			return err
		}
	}
	return b.Delete(repositoryKey(id))
}

func (c *Catalog) applyIndexed(b *store.Batch, at event.Position, ev *event.RevisionIndexed) error {
	var row repositoryRow
	var ref, base refRow
	found, err := readRow(b, repositoryKey(ev.Repository), &row)
	if err != nil || !found {
		return err
	}
	if _, err := readRow(b, refKey(ev.Repository, ev.Ref), &ref); err != nil {
		return err
	}
	if _, err := readRow(b, refKey(ev.Repository, ev.BaseRef), &base); err != nil {
		return err
	}
	if accept.Revision(ev, &row.Since, ref.Ref, base.Ref) != accept.Take {
		return nil // places counts and reports it
	}
	next := refRow{
		Ref:        accept.Ref{Commit: ev.Commit, Cause: ev.Cause},
		CommitTime: ev.CommitTime, IndexedAt: ev.IndexedAt, ReceivedAt: ev.PushedAt,
	}
	if row.PushedAt, err = pushedAt(b, &row, ev, &ref); err != nil {
		return err
	}
	row.Refs += countIfPresent(next) - countIfPresent(ref)
	row.IndexedAt = ev.IndexedAt
	row.Repository.DefaultBranch = accept.DefaultBranch(row.Repository.DefaultBranch, ev)
	if err := writeRow(b, refKey(ev.Repository, ev.Ref), &next); err != nil {
		return err
	}
	return c.write(b, at, &row)
}

func countIfPresent(r refRow) int {
	if r.Commit == "" {
		return 0
	}
	return 1
}

// pushedAt returns the newest commit time of the refs after ev. It reads all refs only if
// the ref with the maximum moves back or is deleted.
func pushedAt(b *store.Batch, row *repositoryRow, ev *event.RevisionIndexed, old *refRow) (time.Time, error) {
	var newest time.Time
	if ev.Commit != "" {
		newest = ev.CommitTime
	}
	held := old.Commit != "" && old.CommitTime.Equal(row.PushedAt)
	if !held || !newest.Before(row.PushedAt) {
		return accept.Later(row.PushedAt, newest), nil
	}
	err := eachRef(b, ev.Repository, func(ref code.Ref, r *refRow) error {
		if ref != ev.Ref && r.Commit != "" {
			newest = accept.Later(newest, r.CommitTime)
		}
		return nil
	})
	return newest, err
}

// updateRow writes the row of a registered repository if change changes it.
func (c *Catalog) updateRow(b *store.Batch, at event.Position, id code.RepositoryID, change func(row *repositoryRow) bool) error {
	var row repositoryRow
	found, err := readRow(b, repositoryKey(id), &row)
	if err != nil || !found || !change(&row) {
		return err
	}
	return c.write(b, at, &row)
}

func (c *Catalog) write(b *store.Batch, at event.Position, row *repositoryRow) error {
	c.stageRepository(at.Partition, row.Repository.ID, row.toRepository())
	return writeRow(b, repositoryKey(row.Repository.ID), row)
}

func (c *Catalog) stageRepository(partition int32, id code.RepositoryID, r *Repository) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(c.mu.applied, partition, id, r)
}

func add(m map[int32]map[code.RepositoryID]*Repository, partition int32, id code.RepositoryID, r *Repository) {
	if m[partition] == nil {
		m[partition] = map[code.RepositoryID]*Repository{}
	}
	m[partition][id] = r
}

// Committed implements projections.Stateful.
func (c *Catalog) Committed(partition int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, r := range c.mu.applied[partition] {
		add(c.mu.committed, partition, id, r)
	}
	delete(c.mu.applied, partition)
}

// Discarded implements projections.Stateful.
func (c *Catalog) Discarded(partition int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.applied, partition)
}

// Publish implements projections.Stateful.
func (c *Catalog) Publish(partition int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed := c.mu.committed[partition]; len(changed) > 0 {
		before := c.snapshot.Load()
		c.snapshot.Store(before.withChanges(changed))
		close(before.superseded)
		delete(c.mu.committed, partition)
	}
}

// Snapshot returns the repositories as of now.
func (c *Catalog) Snapshot() *Snapshot { return c.snapshot.Load() }
