package server

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/segmentstore/s3test"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestSegmentsInABucket runs a server whose segments are in a bucket through an outage of
// the bucket, lost projections, lost objects, and a lost bucket. In the end the index equals
// git, nothing was indexed from a store that is not there, and the data directory has no
// segment store.
func TestSegmentsInABucket(t *testing.T) {
	t.Parallel()
	s3 := s3test.Start(t)
	w := newLossWorld(t, true, s3.Settings("segments")...)
	g := w.repositories[0]

	s3.Stop()
	before, after := w.commitFile(g)
	w.appendPush(g, &event.Push{Ref: "refs/heads/main", Before: before, After: after, Action: event.ActionUpdated})
	waitUntil(t, func() bool { return w.pendingRecords() != "" })
	for _, operation := range []string{"put", "get"} { // a worker has tried, and the check of the identity
		waitUntil(t, func() bool {
			_, text := getURL(t, w.s.MetricsURL()+"/metrics")
			tried := `quarry_bucket_errors_total{operation="` + operation + `",reason="unavailable"} `
			return strings.Contains(text, tried) && !strings.Contains(text, tried+"0")
		})
	}
	if err := w.s.checkReady(t.Context()); err != nil {
		t.Errorf("searches have ended with the bucket: %v", err)
	}
	s3.Restart()
	w.checkConsistency("after an outage of the bucket")

	w.stopServer()
	w.removeFiles("projections", "mirrors")
	w.startServer()
	w.checkConsistency("after the loss of projections and mirrors")

	s3.RemoveObjects("segments/segment-*")
	w.checkConsistency("after the loss of the segments")
	s3.RemoveObjects("segments/manifest-*")
	w.stopServer()
	w.startServer()
	w.checkConsistency("after the loss of the manifests")

	if _, err := os.Stat(filepath.Join(w.c.Data, "segments")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data directory has a segment store: %v", err)
	}
	w.stopServer()
	identity, err := os.ReadFile(filepath.Join(s3.Dir, s3test.Bucket, "segments", segmentstore.IdentityName))
	if err != nil {
		t.Fatal(err)
	}
	s3.RemoveObjects("segments/*")
	registry := prometheus.NewRegistry()
	_, err = Open(t.Context(), Options{Config: w.c, Logger: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry, Version: "test"})
	if !errors.Is(err, segmentstore.ErrOtherStore) || !strings.Contains(err.Error(), "s3://quarry/segments is none") {
		t.Fatalf("opened with a lost bucket: %v", err)
	}
	w.c.Storage.ReplacesIdentity = strings.TrimSpace(string(identity))
	w.startServer()
	w.checkConsistency("after the loss of the bucket")
}
