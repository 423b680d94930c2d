package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// TestBackupHoldsObjects begins, renews and ends a backup through the API, as the backup
// command does.
func TestBackupHoldsObjects(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	stale := filepath.Join(c.LogDir(), "backup-stale")
	if err := os.MkdirAll(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	s := runServer(t, c)
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the checkpoint that a killed server left: %v, want %v", err, os.ErrNotExist)
	}
	if err := s.segments.PutBytes(t.Context(), "object", []byte("x")); err != nil {
		t.Fatal(err)
	}
	status, body := s.asOperator(t, http.MethodPost, "/api/backups", "", "begin")
	var held wire.Backup
	if err := json.Unmarshal([]byte(body), &held); err != nil || status != http.StatusCreated {
		t.Fatalf("begin: %d %s: %v", status, body, err)
	}
	if _, err := os.Stat(filepath.Join(c.LogDir(), held.Checkpoint, "OPTIONS-000003")); err != nil {
		t.Errorf("no checkpoint: %v", err)
	}
	if err := s.segments.Delete(t.Context(), "object"); !errors.Is(err, segmentstore.ErrHeld) {
		t.Errorf("delete during a backup: %v, want %v", err, segmentstore.ErrHeld)
	}
	if status, body := s.asOperator(t, http.MethodPost, "/api/backups", "", "second"); status != http.StatusConflict || !strings.Contains(body, "a backup is running") {
		t.Errorf("a second backup: %d %s", status, body)
	}
	if status, body := s.asOperator(t, http.MethodPost, "/api/backups/"+held.ID+"/renew", "", "renew"); status != http.StatusOK {
		t.Errorf("renew: %d %s", status, body)
	}
	if status, body := s.asOperator(t, http.MethodDelete, "/api/backups/"+held.ID, "", "end"); status != http.StatusNoContent {
		t.Errorf("end: %d %s", status, body)
	}
	if _, err := os.Stat(filepath.Join(c.LogDir(), held.Checkpoint)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the checkpoint after the end: %v, want %v", err, os.ErrNotExist)
	}
	if err := s.segments.Delete(t.Context(), "object"); err != nil {
		t.Errorf("delete after the end: %v", err)
	}
	if status, _ := s.asOperator(t, http.MethodPost, "/api/backups/"+held.ID+"/renew", "", "renew"); status != http.StatusNotFound {
		t.Errorf("renew after the end: %d, want %d", status, http.StatusNotFound)
	}
}

// TestIndexerWaitsForABackup holds a shared segment store as another process does for a backup.
func TestIndexerWaitsForABackup(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	c.Storage.Segments = filepath.Join(t.TempDir(), "segments")
	s := runServer(t, c)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.segments.PutBytes(t.Context(), "object", []byte("x")))
	holds := segmentstore.NewSharedHolds(s.segments, boot.Now)
	must(holds.Extend(t.Context(), "other", boot.Now().Add(time.Minute)))
	if err := s.unheldSegments().Delete(t.Context(), "object"); !errors.Is(err, segmentstore.ErrHeld) {
		t.Errorf("delete during a backup of another process: %v, want %v", err, segmentstore.ErrHeld)
	}
	must(holds.Release(t.Context(), "other"))
	must(s.unheldSegments().Delete(t.Context(), "object"))
}
