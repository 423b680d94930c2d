package backup

import (
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
	b, err := NewLeases(log, logDir, segments, slog.New(slog.DiscardHandler))
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
