package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
)

// wantRefused checks that the next start fails with an error that contains words.
func (w *lossWorld) wantRefused(words ...string) {
	w.t.Helper()
	registry := prometheus.NewRegistry()
	s, err := Open(w.t.Context(), Options{Config: w.c, Logger: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry, Version: "test"})
	if err == nil {
		_ = s.Close()
		w.t.Fatal("the server starts")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("the start says %q, want %q in it", err, word)
		}
	}
}

// TestLostLog removes the log, which is the source of truth. Each start fails and reports
// the loss, and both remedies in the message work.
func TestLostLog(t *testing.T) {
	t.Parallel()
	w := newLossWorld(t, false)
	w.stopServer()
	kept := filepath.Join(t.TempDir(), "log")
	w.failOnError(os.CopyFS(kept, os.DirFS(w.c.LogDir())))
	w.removeFiles("log")
	for range 2 {
		w.wantRefused(w.c.LogDir(), "the log was lost", "quarry restore", "remove "+w.c.ProjectionsDir())
	}
	w.removeFiles("log")
	w.failOnError(os.CopyFS(w.c.LogDir(), os.DirFS(kept)))
	w.startServer()
	w.checkConsistency("the log is restored")
	w.stopServer()
	w.removeFiles("log", "projections", "accounts")
	w.startServer()
	if _, ok := w.s.versions.Live().Catalog.Snapshot().ByID(w.repositories[0].ID); ok {
		t.Error("a repository is left that no log names")
	}
}

// TestLostSecret removes secret.key. The start fails and reports what stops working
// without it. If the checksum is removed as well, a new secret is created.
func TestLostSecret(t *testing.T) {
	t.Parallel()
	w := newLossWorld(t, false)
	w.stopServer()
	w.removeFiles(secrets.FileName)
	for range 2 {
		w.wantRefused(filepath.Join(w.c.Data, secrets.FileName)+" is lost", "API keys", "restore", "remove "+filepath.Join(w.c.Data, secrets.SumFileName))
	}
	w.removeFiles(secrets.SumFileName)
	w.startServer()
	w.checkConsistency("another secret")
}
