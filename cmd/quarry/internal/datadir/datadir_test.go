package datadir

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
)

// writeOpen creates a file that other users may read.
func writeOpen(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantPrivate fails the test if other users can access a file.
func wantPrivate(t *testing.T, path string) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s: %v, %v", path, info.Mode(), err)
	}
}

// TestDirectoryIsOurs locks a data directory that contains open files at its top and
// below, and tries to lock it a second time.
func TestDirectoryIsOurs(t *testing.T) {
	c := config.Default()
	c.Data = filepath.Join(t.TempDir(), "data")
	top, below := filepath.Join(c.Data, secrets.SumFileName), filepath.Join(c.LogDir(), "deep", "file")
	writeOpen(t, top)
	writeOpen(t, below)
	logger := slog.New(slog.DiscardHandler)
	directory, err := Lock(&c, logger)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = directory.Close() }()
	wantPrivate(t, top)
	if second, err := Lock(&c, logger); err == nil {
		_ = second.Close()
		t.Error("a second process took the directory")
	}
	ctx, cancel := context.WithCancel(t.Context())
	g := NewGuard(&c, slog.New(cancelHandler{slog.DiscardHandler, cancel}), prometheus.NewRegistry())
	if err := g.Run(ctx); err != nil {
		t.Error(err)
	}
	wantPrivate(t, below)
}

// cancelHandler cancels a context at the first message.
type cancelHandler struct {
	slog.Handler
	cancel func()
}

// Enabled implements slog.Handler.
func (h cancelHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h cancelHandler) Handle(context.Context, slog.Record) error { h.cancel(); return nil }
