package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/segmentstore/s3test"
	"github.com/quarrysearch/quarry/projections/snapshots"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// finishedBetween are the snapshots of a front and its shards: one is complete as soon as either has
// been looked at.
type finishedBetween struct {
	api.Snapshots
	looked bool
}

func (f *finishedBetween) look() (complete bool) {
	complete, f.looked = f.looked, true
	return complete
}

func (f *finishedBetween) List(context.Context) (list wire.Snapshots, _ error) {
	if f.look() {
		list.Snapshots = []wire.Snapshot{{Name: "v2-new"}}
	}
	return list, nil
}

func (*finishedBetween) CreateSnapshots(context.Context) error { return nil }

func (f *finishedBetween) ReadSnapshotState(context.Context) (creating bool, failed string) {
	return !f.look(), "the one before failed"
}

// TestFrontListsFinishedSnapshots checks that a front never says that nothing is being created with a
// list from before that: quarry snapshots create would take the snapshot for deleted.
func TestFrontListsFinishedSnapshots(t *testing.T) {
	f := &finishedBetween{}
	for range 2 {
		list, err := frontSnapshots{f, f}.List(t.Context())
		if err != nil || list.Error == "" || !list.Creating && len(list.Snapshots) == 0 {
			t.Errorf("%+v, %v, want a snapshot or that one is being created", list, err)
		}
	}
}

// createSnapshot creates a snapshot through the API and returns it once it is complete.
func (w *lossWorld) createSnapshot() wire.Snapshot {
	w.t.Helper()
	if status, body := w.s.asOperator(w.t, http.MethodPost, "/api/snapshots", "", "snapshot"); status != http.StatusAccepted {
		w.t.Fatalf("POST /api/snapshots: %d %s", status, body)
	}
	var list wire.Snapshots
	waitUntil(w.t, func() bool {
		list = w.listSnapshots()
		return !list.Creating
	})
	if list.Error != "" || len(list.Snapshots) == 0 || list.Snapshots[0].Problem != "" {
		w.t.Fatalf("no snapshot was created: %+v", list)
	}
	return list.Snapshots[0]
}

func (w *lossWorld) listSnapshots() (list wire.Snapshots) {
	w.t.Helper()
	status, body := w.s.asOperator(w.t, http.MethodGet, "/api/snapshots", "", "snapshots")
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK {
		w.t.Fatalf("GET /api/snapshots: %d %s", status, body)
	}
	return list
}

// pushFile pushes a change of the checked-out branch of the first repository.
func (w *lossWorld) pushFile() {
	before, after := w.commitFile(w.repositories[0])
	w.appendPush(w.repositories[0], &event.Push{Ref: "refs/heads/main", Before: before, After: after, Action: event.ActionUpdated})
}

// restartWithoutProjections stops the server, removes its projections and starts it. It
// returns the name of the snapshot from which it has started, or an empty string.
func (w *lossWorld) restartWithoutProjections() string {
	w.t.Helper()
	w.stopServer()
	w.removeFiles("projections")
	w.startServer()
	meta, err := projections.ReadMeta(w.s.versions.Live().Store.Dir())
	if err != nil {
		w.t.Fatal(err)
	}
	return meta.Snapshot
}

// checkRebuild compares the index with a rebuild from the log, row by row.
func (w *lossWorld) checkRebuild(when string) {
	w.t.Helper()
	w.checkConsistency(when)
	w.stopServer()
	registry := prometheus.NewRegistry()
	r, err := OpenRebuild(w.t.Context(), Options{Config: w.c, Logger: w.s.o.Logger, Registerer: registry, Gatherer: registry, Version: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	rows, err := r.Verify(w.t.Context(), func(int64, int64) {})
	if err != nil || rows < 20 {
		w.t.Errorf("%s: %d rows are those of a rebuild: %v", when, rows, err)
	}
	if err := r.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.startServer()
}

// TestStartFromASnapshot removes the projections of a server after snapshots of it: it
// starts from the newest one that is intact, follows the log from there, and has the rows of
// a rebuild. Without an intact one, it replays the log and says why.
func TestStartFromASnapshot(t *testing.T) {
	t.Parallel()
	w := newLossWorld(t, false)
	folder := filepath.Join(w.c.SegmentsDir(), snapshots.Folder)
	if from := w.restartWithoutProjections(); from != "" {
		t.Fatalf("started from %s, and there is none", from)
	}
	w.checkConsistency("without a snapshot")
	older := w.createSnapshot()
	w.pushFile()
	w.checkConsistency("between two snapshots")
	newer := w.createSnapshot()
	w.pushFile()
	w.checkConsistency("after two snapshots")

	if from := w.restartWithoutProjections(); from != newer.Name {
		t.Errorf("started from %q, want %s", from, newer.Name)
	}
	w.checkRebuild("from the newest snapshot")

	table, err := filepath.Glob(filepath.Join(folder, newer.Name+".table-*"))
	if err != nil || len(table) == 0 {
		t.Fatalf("tables of %s: %v, %v", newer.Name, table, err)
	}
	b, err := os.ReadFile(table[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	// Another file, because the live version has a link to this one.
	if err := errors.Join(os.Remove(table[0]), os.WriteFile(table[0], b, 0o600)); err != nil {
		t.Fatal(err)
	}
	if from := w.restartWithoutProjections(); from != older.Name {
		t.Errorf("started from %q, want %s", from, older.Name)
	}
	list := w.listSnapshots()
	if len(list.Snapshots) != 2 || !strings.Contains(list.Snapshots[0].Problem, "the snapshot is damaged") || list.Snapshots[1].Problem != "" {
		t.Errorf("a damaged snapshot is not shown: %+v", list)
	}
	_, metrics := getURL(t, w.s.MetricsURL()+"/metrics")
	for _, want := range []string{`quarry_snapshots_loads_total{result="used"} 1`, `quarry_snapshots_loads_total{result="skipped"} 1`, "quarry_snapshots_newest_timestamp_seconds 1."} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	w.checkRebuild("from the older snapshot")

	for _, known := range list.Snapshots {
		if status, body := w.s.asOperator(t, http.MethodDelete, "/api/snapshots/"+known.Name, "", "delete"); status != http.StatusNoContent {
			t.Fatalf("DELETE %s: %d %s", known.Name, status, body)
		}
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(left) > 0 {
		t.Errorf("deleted snapshots left %v, %v", left, err)
	}
	if from := w.restartWithoutProjections(); from != "" {
		t.Errorf("started from %s, which was deleted", from)
	}
	w.checkConsistency("after the last snapshot was deleted")
}

// TestStartFromASnapshotInABucket does the same with a segment store in a bucket, and a
// snapshot that the server creates at its interval.
func TestStartFromASnapshotInABucket(t *testing.T) {
	t.Parallel()
	s3 := s3test.Start(t)
	w := newLossWorld(t, false, append(s3.Settings("segments"), "snapshots.interval=1s", "snapshots.keep=1")...)
	first := ""
	waitUntil(t, func() bool {
		list := w.listSnapshots()
		if len(list.Snapshots) == 0 || list.Snapshots[0].Problem != "" {
			return false
		}
		if first == "" {
			first = list.Snapshots[0].Name
		}
		return list.Snapshots[0].Name != first && len(list.Snapshots) == 1
	})
	w.pushFile()
	w.checkConsistency("after a push")
	if from := w.restartWithoutProjections(); !strings.HasPrefix(from, "v2-") {
		t.Errorf("started from %q, want a snapshot in the bucket", from)
	}
	w.checkRebuild("from a snapshot in a bucket")
	s3.RemoveObjects("segments/snapshots/*.table-*")
	w.stopServer()
	w.c.Snapshots.Interval = 0
	w.startServer()
	if from := w.restartWithoutProjections(); from != "" {
		t.Errorf("started from %s, which has lost its tables", from)
	}
	w.checkConsistency("after the tables were lost")
}
