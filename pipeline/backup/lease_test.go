package backup

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// TestBackupExpires checks the end of a backup whose client died, and of one that is
// renewed forever.
func TestBackupExpires(t *testing.T) {
	logDir := filepath.Join(t.TempDir(), "log")
	log, err := embeddedlog.Open(logDir, embeddedlog.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	segments, err := segmentstore.OpenDirectory(filepath.Join(t.TempDir(), "segments"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewLeases(log, logDir, segments, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	b.now = func() time.Time { return now }
	held := func() bool { return errors.Is(segments.Delete(t.Context(), "object"), segmentstore.ErrHeld) }
	begin := func() wire.Backup {
		t.Helper()
		a, err := b.Begin(t.Context())
		if err != nil || !held() {
			t.Fatalf("begin: held is %t: %v", held(), err)
		}
		return a
	}
	first := begin()
	now = now.Add(leaseDuration)
	if _, err := b.Renew(t.Context(), first.ID); !errors.Is(err, code.ErrNotFound) || held() {
		t.Errorf("a backup without a client: held is %t: %v", held(), err)
	}
	second, renewals := begin(), 0
	for ; held(); renewals++ {
		now = now.Add(leaseDuration / 2)
		_, _ = b.Renew(t.Context(), second.ID)
	}
	if want := int(2 * maxLeaseDuration / leaseDuration); renewals != want {
		t.Errorf("a backup ended after %d renewals, want %d", renewals, want)
	}
	if entries, err := filepath.Glob(filepath.Join(b.logDir, checkpointPrefix+"*")); err != nil || len(entries) > 0 {
		t.Errorf("checkpoints that are left: %v: %v", entries, err)
	}
}

// TestOtherProcessesSeeABackup checks that a backup holds a store that several processes share, from
// before its checkpoint until its end, and for a short time after its process was killed.
func TestOtherProcessesSeeABackup(t *testing.T) {
	logDir := filepath.Join(t.TempDir(), "log")
	log, err := embeddedlog.Open(logDir, embeddedlog.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	dir := filepath.Join(t.TempDir(), "segments")
	segments, err := segmentstore.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	other, err := segmentstore.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	held := func() bool {
		is, err := segmentstore.NewSharedHolds(other, func() time.Time { return now }).IsHeld(t.Context())
		if err != nil {
			t.Error(err)
		}
		return is
	}
	settled := 0
	settle := func(context.Context) error {
		if !held() || checkpoints(t, logDir) != 0 {
			t.Error("the hold is not seen before the checkpoint")
		}
		settled++
		return nil
	}
	b, err := NewLeases(log, logDir, segments, settle, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.clock = func() time.Time { return time.Now().Add(2 * time.Minute) }
	if _, err := b.Begin(t.Context()); !errors.Is(err, segmentstore.ErrClock) || held() {
		t.Errorf("a backup with another clock than that of the store: %v, held %v", err, held())
	}
	b.clock = time.Now
	b.now = func() time.Time { return now }
	a, err := b.Begin(t.Context())
	if err != nil || settled != 1 || checkpoints(t, logDir) != 1 {
		t.Fatalf("begin: %v, settled %d times", err, settled)
	}
	for range 4 {
		now = now.Add(leaseDuration / 2)
		if _, err := b.Renew(t.Context(), a.ID); err != nil || !held() {
			t.Errorf("a backup that is renewed: held is %t, %v", held(), err)
		}
	}
	if err := b.End(t.Context(), a.ID); err != nil || held() {
		t.Errorf("end: held is %t, %v", held(), err)
	}
	if _, err := b.Begin(t.Context()); err != nil || !held() {
		t.Fatalf("begin: held is %t, %v", held(), err)
	}
	now = now.Add(3 * leaseDuration) // its process was killed
	if held() {
		t.Error("the hold of a process that was killed does not end")
	}
}

// checkpoints returns the number of checkpoints of a log.
func checkpoints(t *testing.T, logDir string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(logDir, checkpointPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}
