package accountrows

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/store"
)

// TestOpenRebuildsRows opens rows that were marked as damaged, and rows that another
// version of the program wrote. Both are dropped, and empty rows follow the log from its
// beginning.
func TestOpenRebuildsRows(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"intact": func(*testing.T, string) {},
		"damaged": func(t *testing.T, dir string) {
			if err := projections.MarkDamaged(dir, errors.New("a turned bit")); err != nil {
				t.Fatal(err)
			}
		},
		"another version": func(t *testing.T, dir string) {
			s, err := store.Open(dir, store.Options{CacheBytes: store.MinCacheBytes, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			b := s.NewBatch()
			if err := errors.Join(b.SetSchema("accounts", 1<<20), b.Commit(), b.Close(), s.Close()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			dir := filepath.Join(data, "accounts")
			log, err := embeddedlog.Open(filepath.Join(data, "log"), embeddedlog.Options{Partitions: 1})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = log.Close() })
			open := func() (*Rows, error) {
				reg := prometheus.NewRegistry()
				return Open(Options{Directory: dir, Now: time.Now, Log: log, Damage: repair.NewMetrics(reg), Logger: slog.New(slog.DiscardHandler), Registerer: reg})
			}
			rows, err := open()
			if err != nil {
				t.Fatal(err)
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			kept := filepath.Join(dir, "kept")
			if err := os.WriteFile(kept, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			spoil(t, dir)
			if rows, err = open(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(kept); (err == nil) != (name == "intact") {
				t.Errorf("%s: the directory was kept: %v", name, err == nil)
			}
		})
	}
}
