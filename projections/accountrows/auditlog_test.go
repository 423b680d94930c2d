package accountrows

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// openRows returns the rows of an empty log and applies the log until the test ends.
func openRows(t *testing.T) *Rows {
	t.Helper()
	log, err := embeddedlog.Open(filepath.Join(t.TempDir(), "log"), embeddedlog.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	rows, err := Open(Options{Directory: t.TempDir(), Now: time.Now, Log: log, Damage: repair.NewMetrics(registry), Logger: slog.New(slog.DiscardHandler), Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rows.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, rows.Close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := rows.AwaitAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestEmptyLogIsVerified verifies a log without entries, one verification at a time, and
// checks that invalid heads and cursors are refused.
func TestEmptyLogIsVerified(t *testing.T) {
	rows := openRows(t)
	l := NewAuditLog(rows, audit.NewKey([]byte("secret of the test")))
	if heads, err := l.Heads(t.Context()); err != nil || len(heads) != 2 || heads[0].Pin() != "" || !heads[0].At.IsZero() {
		t.Errorf("heads %+v: %v", heads, err)
	}
	if page, err := l.List(t.Context(), auditlog.Query{Limit: 10}); err != nil || page.Total != 0 {
		t.Errorf("page %+v: %v", page, err)
	}
	if _, err := l.Export(t.Context(), auditlog.Query{}, "no cursor", nil); !errors.Is(err, failure.ErrCursor) {
		t.Errorf("export from a cursor that is none: %v, want %v", err, failure.ErrCursor)
	}
	if _, err := l.Verify(t.Context(), []string{"no head"}, nil); !errors.Is(err, failure.ErrAuditHead) {
		t.Errorf("verify a head that is none: %v, want %v", err, failure.ErrAuditHead)
	}
	release, held := rows.TryHold()
	if _, err := l.Verify(t.Context(), nil, nil); !held || !errors.Is(err, failure.ErrUnavailable) {
		t.Errorf("a second verification at once: %v", err)
	}
	release()
	if report, err := l.Verify(t.Context(), nil, nil); err != nil || len(report.Topics) != 2 || len(report.Findings) != 0 {
		t.Errorf("verification ends with %+v: %v, want two topics and no findings", report, err)
	}
}
