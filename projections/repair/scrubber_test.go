package repair_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/versions/versionstest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestScrub reads a segment store with two damaged objects, then with none left, and then one
// whose directory cannot be listed: a pass that could not read everything fails.
func TestScrub(t *testing.T) {
	_, v := versionstest.Open(t, 1, "")
	dir := filepath.Join(t.TempDir(), "segments")
	objects, err := segmentstore.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 2 {
		name := segmentstore.SegmentName(segment.ID{byte(i + 1)})
		if err := objects.PutBytes(t.Context(), name, []byte("no segment")); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	reg := prometheus.NewRegistry()
	c := repair.NewScrubber(repair.ScrubOptions{
		Segments: objects, BytesPerSecond: 1 << 30, Metrics: repair.NewMetrics(reg), Logger: slog.New(slog.DiscardHandler),
		AcquireLive: func() (repair.ScrubbedVersion, func()) {
			live, release := v.AcquireScrubbed()
			caughtUp := make(chan struct{})
			close(caughtUp)
			live.CaughtUp = caughtUp
			return live, release
		},
	})
	for pass, want := range []int{2, 0} {
		found, err := c.RunPass(t.Context())
		if err != nil || found["segments"] != want {
			t.Errorf("pass %d found %v, %v; want %d segments", pass, found, err, want)
		}
	}
	for _, name := range names {
		if err := objects.Check(t.Context(), name, integrity.NewPace(1<<30, func(int) {})); !errors.Is(err, code.ErrNotFound) {
			t.Errorf("%s: %v, want an object in the quarantine", name, err)
		}
	}
	passed := func() float64 {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "quarry_scrub_last_pass_timestamp_seconds" {
				return f.Metric[0].Gauge.GetValue()
			}
		}
		t.Fatal("no metric of the last pass")
		return 0
	}
	before := passed()
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RunPass(t.Context()); err == nil {
		t.Error("a directory that cannot be listed counts as read")
	}
	if after := passed(); after != before || before == 0 {
		t.Errorf("the last pass is %v, then %v", before, after)
	}
}
