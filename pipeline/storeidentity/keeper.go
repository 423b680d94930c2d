package storeidentity

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// recordInterval is the number of checks after which the log is read for an identity
	// that another process has recorded.
	recordInterval = 30
	// source is the source of the events.
	source = "/store"
)

// NoIdentity, as Options.Replaces, accepts an empty segment store before the log records an
// identity.
const NoIdentity = "none"

// Options are the options of Open. All are required but Replaces.
type Options struct {
	Log   eventlog.Log
	Store segmentstore.Driver
	// Place is the directory or the address of the store, for messages.
	Place string
	// Interval is the interval at which the identity of the store is read.
	Interval time.Duration
	// Writes reports whether this process writes segments, and so may identify the store.
	Writes bool
	// Replaces is the recorded identity that the operator gives up. Optional.
	Replaces string
	Now      func() time.Time
	Logger   *slog.Logger
}

// Keeper keeps the identity that the log expects, and compares the store with it.
type Keeper struct {
	o Options
	// expected is the identity that the log records; empty before the first record. next
	// is the offset after the last record read. They belong to Open and Run.
	expected string
	next     event.Offset
	checks   int
	// unreachable is set while the store does not answer.
	unreachable bool
	refusal     atomic.Pointer[error] // nil while the store is the right one
}

// Open reads the identity that the log expects, and identifies a new store. It returns an
// error if the store is another one.
func Open(ctx context.Context, o Options) (*Keeper, error) {
	k := &Keeper{o: o}
	if err := k.readRecords(ctx); err != nil {
		return nil, err
	}
	if o.Writes && (k.expected == "" || k.expected == o.Replaces) {
		if err := k.identifyStore(ctx); err != nil {
			return nil, err
		}
	}
	return k, k.checkStore(ctx)
}

// Run compares the store with the log until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	return clock.RunEvery(ctx, k.o.Interval, k.check)
}

// CheckReady returns an error while the store is another one.
func (k *Keeper) CheckReady() error {
	if err := k.refusal.Load(); err != nil {
		return *err
	}
	return nil
}

// check compares the store with the log, and reads the log if they differ: another
// process may have recorded an identity.
func (k *Keeper) check(ctx context.Context) {
	err := k.checkStore(ctx)
	if k.checks++; err != nil || k.expected == "" || k.checks%recordInterval == 0 {
		if read := k.readRecords(ctx); read != nil {
			if ctx.Err() == nil {
				k.o.Logger.Warn("the identity of the segment store could not be read from the log; trying again", "error", read)
			}
			return
		}
		err = k.checkStore(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, segmentstore.ErrOtherStore) {
		// The store is out of reach. Searches do not need it, and whatever does waits.
		if !k.unreachable {
			k.o.Logger.Warn("the segment store does not answer; trying again", "path", k.o.Place, "error", err)
		}
		k.unreachable = true
		return
	}
	k.unreachable = false
	before := k.CheckReady()
	switch {
	case err == nil && before != nil:
		k.refusal.Store(nil)
		k.o.Logger.Info("the segment store is the right one again", "path", k.o.Place)
	case err != nil:
		k.refusal.Store(&err)
		if before == nil {
			k.o.Logger.Error("the segment store is not usable; this process is not ready until it is", "path", k.o.Place, "error", err)
		}
	}
}

// checkStore returns an error that tells the operator what to do if the store is not the
// one that the log expects.
func (k *Keeper) checkStore(ctx context.Context) error {
	if k.expected == "" {
		return nil
	}
	found, err := k.o.Store.Identity(ctx)
	switch {
	case err == nil && found == k.expected:
		return nil
	case errors.Is(err, code.ErrNotFound):
		found = "none"
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: the log expects the segment store with identity %s, and the identity in %s is %s: mount that store, or correct storage.segments; if the store was lost or replaced on purpose, start a process with the role pipeline with --set storage.replacesIdentity=%s, which accepts it, and what it lacks is indexed again",
		segmentstore.ErrOtherStore, k.expected, k.o.Place, found, k.expected)
}

// identifyStore records the identity of the store, and writes one first if there is none.
func (k *Keeper) identifyStore(ctx context.Context) error {
	id, err := k.o.Store.Identity(ctx)
	if errors.Is(err, code.ErrNotFound) {
		if err := k.checkAdoptable(ctx); err != nil {
			return err
		}
		var random [event.StoreIdentityBytes / 2]byte
		_, _ = rand.Read(random[:]) // never fails
		if err := k.o.Store.WriteIdentity(ctx, hex.EncodeToString(random[:])); err != nil {
			return err
		}
		id, err = k.o.Store.Identity(ctx) // of the process that was first
	}
	if err != nil || id == k.expected {
		return err
	}
	now := k.o.Now().UTC()
	record, err := event.Encode(event.Envelope{ID: rand.Text(), Source: source, Time: now}, &event.StoreIdentified{Store: id, Replaces: k.expected, At: now})
	if err != nil {
		return err
	}
	if _, err := k.o.Log.Append(ctx, event.TopicAccounts, 0, record); err != nil {
		return fmt.Errorf("record the identity of the segment store: %w", err)
	}
	k.o.Logger.Info("recorded the identity of the segment store", "path", k.o.Place, "identity", id, "replaces", k.expected)
	return k.readRecords(ctx)
}

// checkAdoptable returns an error if the log of an installation without a recorded
// identity names segments, and the store is empty: it is not the one that they are in.
func (k *Keeper) checkAdoptable(ctx context.Context) error {
	if k.expected != "" || k.o.Replaces == NoIdentity {
		return nil // the operator accepts the store
	}
	empty, err := k.o.Store.IsEmpty(ctx)
	if err != nil || !empty {
		return err
	}
	high, err := k.o.Log.HighWater(ctx, event.TopicEvents)
	if err != nil {
		return err
	}
	for partition, end := range high {
		for rec, err := range event.ReadRange(ctx, k.o.Log, event.TopicEvents, int32(partition), 0, end) {
			if err != nil {
				return err
			}
			if event.TypeOf(rec) != event.TypeRevisionIndexed {
				continue
			}
			_, ev, err := event.Decode(rec)
			if indexed, ok := ev.(*event.RevisionIndexed); err == nil && ok && len(indexed.Segments) > 0 {
				return fmt.Errorf("%w: %s is empty, and the log names segments, first in record %s: mount the segment store, or correct storage.segments; if the segments were lost or removed on purpose, start with --set storage.replacesIdentity=%s, and they are indexed again",
					segmentstore.ErrOtherStore, k.o.Place, rec.Position, NoIdentity)
			}
		}
	}
	return nil
}

// unrecorded is the identity that a process requires before one is recorded: it has no
// store, so no object is taken for lost.
const unrecorded = "unrecorded"

// readRecords applies the records that were appended since the last call.
func (k *Keeper) readRecords(ctx context.Context) error {
	high, err := k.o.Log.HighWater(ctx, event.TopicAccounts)
	if err != nil {
		return fmt.Errorf("read the identity of the segment store from the log: %w", err)
	}
	for rec, err := range event.ReadRange(ctx, k.o.Log, event.TopicAccounts, 0, k.next, high[0]) {
		if err != nil {
			return fmt.Errorf("read the identity of the segment store from the log: %w", err)
		}
		if event.TypeOf(rec) == event.TypeStoreIdentified {
			_, ev, err := event.Decode(rec)
			if e, ok := ev.(*event.StoreIdentified); err == nil && ok && e.Replaces == k.expected {
				k.expected = e.Store
			}
		}
		k.next = rec.Position.Offset + 1
	}
	k.o.Store.RequireIdentity(cmp.Or(k.expected, unrecorded))
	return nil
}
