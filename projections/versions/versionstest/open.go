// Package versionstest opens the projections of a process for tests of their readers.
//
// It answers the question "which projections does a test read?". Open creates a log and
// its projections in a temporary directory. The projections do not follow the log until
// the test runs the versions.
package versionstest

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/versions"
)

// Open returns an empty log with the given number of partitions, and its projections.
// Both are closed when the test ends. workers is the consumer group whose progress the
// projections read, or empty for none.
func Open(t testing.TB, partitions int32, workers string) (eventlog.Log, *versions.Versions) {
	t.Helper()
	dir := t.TempDir()
	log, err := embeddedlog.Open(filepath.Join(dir, "log"), embeddedlog.Options{Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	home, err1 := projections.OpenHome(filepath.Join(dir, "projections"))
	objects, err2 := segmentstore.OpenDirectory(filepath.Join(dir, "segments"))
	frames := segment.NewCache(1 << 20)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	v, err := versions.Open(t.Context(), versions.Options{
		Home: home, Log: log, DataDir: dir, TempDir: filepath.Join(dir, "tmp"), BlocksBytes: 1 << 20, LogDir: filepath.Join(dir, "log"), Workers: workers, Objects: objects, Frames: frames,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(v.Close(), frames.Close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
	return log, v
}
