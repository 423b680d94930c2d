package server

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// TestBackupHoldsObjects begins, renews and ends a backup over the API, as its client does.
func TestBackupHoldsObjects(t *testing.T) {
	c := testConfig(t)
	stale := filepath.Join(c.LogDir(), checkpointPrefix+"stale")
	if err := os.MkdirAll(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	s := runServer(t, c)
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the checkpoint that a killed server left: %v", err)
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
		t.Errorf("delete during a backup: %v", err)
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
		t.Errorf("the checkpoint after the end: %v", err)
	}
	if err := s.segments.Delete(t.Context(), "object"); err != nil {
		t.Errorf("delete after the end: %v", err)
	}
	if status, _ := s.asOperator(t, http.MethodPost, "/api/backups/"+held.ID+"/renew", "", "renew"); status != http.StatusNotFound {
		t.Errorf("renew after the end: %d", status)
	}
}

// TestBackupExpires lets the client of a backup die, and one renew without end.
func TestBackupExpires(t *testing.T) {
	c := testConfig(t)
	log, err := openEmbedded(Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	segments, err := segmentstore.OpenDirectory(c.SegmentsDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBackups(Options{Config: c, Logger: slog.New(slog.DiscardHandler)}, log, segments)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	b.now = func() time.Time { return now }
	held := func() bool { return errors.Is(segments.Delete(t.Context(), "object"), segmentstore.ErrHeld) }
	begin := func() api.Backup {
		t.Helper()
		a, err := b.Begin(t.Context())
		if err != nil || !held() {
			t.Fatalf("begin: held is %t: %v", held(), err)
		}
		return a
	}
	first := begin()
	now = now.Add(backupLease)
	if _, err := b.Renew(t.Context(), first.ID); !errors.Is(err, code.ErrNotFound) || held() {
		t.Errorf("a backup without a client: held is %t: %v", held(), err)
	}
	second, renewals := begin(), 0
	for ; held(); renewals++ {
		now = now.Add(backupLease / 2)
		_, _ = b.Renew(t.Context(), second.ID)
	}
	if want := int(2 * maxBackupTime / backupLease); renewals != want {
		t.Errorf("a backup ended after %d renewals, want %d", renewals, want)
	}
	if entries, err := filepath.Glob(filepath.Join(b.logDir, checkpointPrefix+"*")); err != nil || len(entries) > 0 {
		t.Errorf("checkpoints that are left: %v: %v", entries, err)
	}
}
