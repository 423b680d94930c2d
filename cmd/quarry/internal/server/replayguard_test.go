package server

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/schemas/replay"
)

// objectsOf returns the objects of the segment store by name.
func objectsOf(t *testing.T, dir, pattern string) map[string]string {
	t.Helper()
	objects := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		objects[filepath.Base(path)] = string(b)
	}
	return objects
}

// TestReplayKeepsTheLastCopy removes the segment store while the projections stay, and
// replays with the server stopped. Segments are restored byte for byte from the
// projections. Manifests cannot be restored, so the replay is refused unless it is
// forced.
func TestReplayKeepsTheLastCopy(t *testing.T) {
	t.Parallel()
	w := newLossWorld(t, true)
	w.stopServer()
	segments, manifests := objectsOf(t, w.c.SegmentsDir(), "segment-*"), objectsOf(t, w.c.SegmentsDir(), "manifest-*")
	if len(segments) == 0 || len(manifests) == 0 {
		t.Fatalf("%d segments and %d manifests", len(segments), len(manifests))
	}
	replay := func(force bool) error {
		t.Helper()
		r, err := OpenRebuild(t.Context(), Options{Config: w.c, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Switch(t.Context(), replay.Request{Force: force}, func(int64, int64) {})
		return errors.Join(err, r.Close())
	}
	w.removeFiles("segments")
	if err := replay(false); err == nil || !strings.Contains(err.Error(), "lack documents of the live one") || !strings.Contains(err.Error(), "2 refs") {
		t.Fatalf("a replay that loses manifests: %v", err)
	}
	if got := objectsOf(t, w.c.SegmentsDir(), "segment-*"); !maps.Equal(got, segments) {
		t.Errorf("%d segments are as they were before, want %d", len(got), len(segments))
	}
	w.startServer()
	w.checkConsistency("after a replay that was refused") // the live version is still complete, and what a rebuild lacks is indexed again
	w.stopServer()
	if err := replay(false); err != nil {
		t.Errorf("a replay after that: %v", err)
	}

	w.removeFiles("segments/manifest-*")
	if err := replay(true); err != nil {
		t.Errorf("a replay with force: %v", err)
	}
	w.startServer()
	w.checkConsistency("after a replay with force")
}
