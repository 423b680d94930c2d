package storeidentity

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// openKeeper opens a process that shares the log and the directory.
func openKeeper(t *testing.T, log eventlog.Log, dir string, writes bool, replaces string) (*Keeper, error) {
	t.Helper()
	store, err := segmentstore.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	return Open(t.Context(), Options{Log: log, Store: store, Place: dir, Interval: time.Second, Writes: writes, Replaces: replaces, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
}

// unreadableStore has an identity that cannot be read after it was written.
type unreadableStore struct {
	segmentstore.Driver
	written bool
}

var errUnreadable = errors.New("the identity cannot be read")

func (s *unreadableStore) WriteIdentity(ctx context.Context, id string) error {
	s.written = true
	return s.Driver.WriteIdentity(ctx, id)
}

func (s *unreadableStore) Identity(ctx context.Context) (string, error) {
	if s.written {
		return "", errUnreadable
	}
	return s.Driver.Identity(ctx)
}

// TestUnreadableIdentity expects a writer that cannot read the identity of the store to fail, and
// to record none.
func TestUnreadableIdentity(t *testing.T) {
	log, err := embeddedlog.Open(filepath.Join(t.TempDir(), "log"), embeddedlog.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	dir := filepath.Join(t.TempDir(), "segments")
	store, err := segmentstore.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Log: log, Store: &unreadableStore{Driver: store}, Place: dir, Interval: time.Second, Writes: true, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	if _, err := Open(t.Context(), o); !errors.Is(err, errUnreadable) {
		t.Errorf("a writer without a readable identity: %v, want %v", err, errUnreadable)
	}
	if high, err := log.HighWater(t.Context(), event.TopicAccounts); err != nil || high[0] != 0 {
		t.Errorf("records of accounts end at %v, want none: %v", high, err)
	}
}

// TestOtherStoreIsRefused opens readers and writers of a log with the right store, an
// empty one and another one, swaps the directory below a running reader, and replaces the
// store on purpose.
func TestOtherStoreIsRefused(t *testing.T) {
	log, err := embeddedlog.Open(filepath.Join(t.TempDir(), "log"), embeddedlog.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	dir, empty := filepath.Join(t.TempDir(), "segments"), filepath.Join(t.TempDir(), "empty")

	// Before a writer has identified the store, no object is taken for lost.
	early, err := openKeeper(t, log, empty, false, "")
	if err != nil {
		t.Fatalf("reader before the first writer: %v", err)
	}
	if _, err := early.o.Store.GetBytes(t.Context(), "manifest-1", 9); errors.Is(err, code.ErrNotFound) || err == nil {
		t.Errorf("an object of an unconfirmed store: %v, want neither an object nor %v", err, code.ErrNotFound)
	}
	// An old store has objects and no identity.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest-0"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := openKeeper(t, log, dir, true, "")
	if err != nil || writer.expected == "" {
		t.Fatalf("first writer: identity %q, %v", writer.expected, err)
	}
	reader, err := openKeeper(t, log, dir, false, "")
	if err != nil || reader.expected != writer.expected {
		t.Fatalf("reader: identity %q, want %q: %v", reader.expected, writer.expected, err)
	}
	for _, writes := range []bool{false, true} {
		_, err := openKeeper(t, log, empty, writes, "")
		if !errors.Is(err, segmentstore.ErrOtherStore) || !strings.Contains(err.Error(), empty) || !strings.Contains(err.Error(), writer.expected) {
			t.Errorf("empty store, writes %t: %v, want %v with the directory and the identity", writes, err, segmentstore.ErrOtherStore)
		}
	}
	early.check(t.Context())
	if early.CheckReady() == nil {
		t.Error("a reader with an empty store is ready after a writer has identified another one")
	}

	// The store is unmounted below a reader, and comes back.
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	reader.check(t.Context())
	if err := reader.CheckReady(); !errors.Is(err, segmentstore.ErrOtherStore) {
		t.Errorf("unmounted: %v, want %v", err, segmentstore.ErrOtherStore)
	}
	if err := reader.o.Store.Fetch(t.Context(), "manifest-0", filepath.Join(t.TempDir(), "f")); !errors.Is(err, segmentstore.ErrOtherStore) {
		t.Errorf("fetch while unmounted: %v, want %v", err, segmentstore.ErrOtherStore)
	}
	for _, err = range reader.o.Store.List(t.Context()) {
	}
	if !errors.Is(err, segmentstore.ErrOtherStore) {
		t.Errorf("list while unmounted: %v, want %v", err, segmentstore.ErrOtherStore)
	}
	if err := reader.o.Store.PutBytes(t.Context(), "manifest-2", nil); !errors.Is(err, segmentstore.ErrOtherStore) {
		t.Errorf("put while unmounted: %v, want %v", err, segmentstore.ErrOtherStore)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	reader.check(t.Context())
	if err := reader.CheckReady(); err != nil {
		t.Errorf("mounted again: %v", err)
	}

	// The operator gives the store up. The setting has no further effect.
	for range 2 {
		if replaced, err := openKeeper(t, log, empty, true, writer.expected); err != nil || replaced.expected == writer.expected {
			t.Errorf("replaced on purpose: identity %q, %v", replaced.expected, err)
		}
	}
	if _, err := openKeeper(t, log, dir, true, writer.expected); !errors.Is(err, segmentstore.ErrOtherStore) {
		t.Errorf("the store that was given up: %v, want %v", err, segmentstore.ErrOtherStore)
	}
}
