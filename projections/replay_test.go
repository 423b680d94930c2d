package projections_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// replayBench contains a log of a random world and a home.
type replayBench struct {
	world   *projectiontest.World
	log     *projectiontest.Log
	records []event.Record
	dir     string
	home    *projections.Home
	o       projections.ReplayOptions
	done    int64
	total   int64
}

func newReplayBench(t *testing.T, steps int) *replayBench {
	t.Helper()
	objects, err := segmentstore.OpenDirectory(t.TempDir())
	must(t, err)
	b := &replayBench{world: projectiontest.NewWorld(t, 9, 2, objects), log: projectiontest.NewLog(2), dir: filepath.Join(t.TempDir(), "projections")}
	b.home, err = projections.OpenHome(b.dir)
	must(t, err)
	b.addRecords(steps)
	b.o = projections.ReplayOptions{
		Home: b.home, Log: b.log, Objects: objects, Progress: func(d, n int64) { b.done, b.total = d, n },
		Open: func(ctx context.Context, s *store.Store, d *projections.Decoder) ([]projections.Projection, func(), error) {
			return openBoth(ctx, s, objects, d)
		},
	}
	return b
}

func (b *replayBench) addRecords(steps int) {
	for range steps {
		_, records := b.world.Step()
		b.log.Add(records...)
		b.records = append(b.records, records...)
	}
}

// rows returns the rows of the version in dir.
func (b *replayBench) rows(t *testing.T, dir string) []projectiontest.Row {
	t.Helper()
	s, err := store.Open(dir, store.Options{})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	rows, err := projectiontest.Dump(s)
	must(t, err)
	return rows
}

func TestReplay(t *testing.T) {
	ctx := context.Background()
	b := newReplayBench(t, 50)
	live, err := b.home.Current()
	must(t, err)
	liveStore, err := store.Open(live, store.Options{})
	must(t, err)
	d := projections.NewDecoder(b.o.Objects)
	p, closeAll, err := openBoth(ctx, liveStore, b.o.Objects, d)
	must(t, err)
	r := start(t, liveStore, b.log, projections.Options{Projections: p, Decoder: d})
	<-r.runner.CaughtUp()

	next, err := projections.Replay(ctx, b.o)
	must(t, err)
	if current, err := b.home.Current(); err != nil || current != next || next == live || b.done != b.total || b.total == 0 {
		t.Fatalf("current %s, replayed into %s, %d of %d records: %v", current, next, b.done, b.total, err)
	}
	meta, err := projections.ReadMeta(next)
	if err != nil || meta.CompletedAt.IsZero() || meta.IsFrozen() || meta.Schemas["places"] != 2 {
		t.Fatalf("meta %+v: %v", meta, err)
	}
	want, err := projectiontest.Dump(liveStore)
	must(t, err)
	if diff := projectiontest.Difference(want, b.rows(t, next)); diff != "" || len(want) < 50 {
		t.Fatalf("%d rows: %s", len(want), diff)
	}
	r.stop()
	closeAll()
	must(t, liveStore.Close())

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := projections.Replay(canceled, b.o); !errors.Is(err, context.Canceled) {
		t.Fatalf("canceled replay: %v, want %v", err, context.Canceled)
	}
	entries, err := os.ReadDir(b.dir)
	must(t, err)
	if len(entries) != 3 {
		t.Fatalf("a canceled replay left %v", entries)
	}
}

// TestVersionsAreBounded checks that the live version and the previous one stay, and that
// a rollback swaps them; a third version, and an unfinished one, are removed.
func TestVersionsAreBounded(t *testing.T) {
	b := newReplayBench(t, 5)
	first, err := b.home.Current()
	must(t, err)
	if _, err := b.home.Rollback(); !errors.Is(err, projections.ErrNoPrevious) {
		t.Fatalf("roll back of a new home: %v, want %v", err, projections.ErrNoPrevious)
	}
	must(t, os.MkdirAll(first, 0o755))
	second, err := projections.Replay(t.Context(), b.o)
	must(t, err)
	back, err := b.home.Rollback()
	must(t, err)
	if previous, err := b.home.Previous(); back != first || previous != second || err != nil {
		t.Fatalf("rolled back to %s, %s is kept: %v", back, previous, err)
	}
	third, err := projections.Replay(t.Context(), b.o)
	must(t, err)
	unfinished, err := b.home.Next()
	must(t, err)
	must(t, projections.WriteMeta(unfinished, projections.Meta{}))
	must(t, b.home.Clean())
	left, err := filepath.Glob(filepath.Join(b.dir, "projections-*"))
	must(t, err)
	if len(left) != projections.MaxVersions || left[0] != first || left[1] != third {
		t.Fatalf("%v are left, want %s and %s", left, first, third)
	}
}

// TestPastDoesNotTakeThePlaceOfThePresent checks that the version that follows the log is
// kept, however many versions of the past are built.
func TestPastDoesNotTakeThePlaceOfThePresent(t *testing.T) {
	b := newReplayBench(t, 10)
	present, err := projections.Replay(t.Context(), b.o)
	must(t, err)
	for _, n := range []int{2, 5} {
		o := b.o
		o.Until = &projections.Until{Time: b.records[n].Time}
		past, err := projections.Replay(t.Context(), o)
		must(t, err)
		must(t, b.home.Clean())
		current, err := b.home.Current()
		must(t, err)
		if previous, err := b.home.Previous(); current != past || previous != present || err != nil {
			t.Fatalf("live %s, previous %s, want %s and %s: %v", current, previous, past, present, err)
		}
	}
	if back, err := b.home.Rollback(); back != present || err != nil {
		t.Fatalf("rolled back to %s: %v", back, err)
	}
}

// TestReplayOneProjection rebuilds one projection in a copy of a live store that has
// applied a part of the log, and compares every row with that of a full replay.
func TestReplayOneProjection(t *testing.T) {
	for _, name := range []string{"catalog", "places"} {
		b := newReplayBench(t, 40)
		first, err := projections.Replay(t.Context(), b.o)
		must(t, err)
		source, err := store.Open(first, store.Options{})
		must(t, err)
		family := map[string]store.Family{"catalog": store.FamilyCatalog, "places": store.FamilyPlaces}[name]
		batch := source.NewBatch()
		must(t, batch.Set([]byte{byte(family), 'R', 'x'}, []byte("{}"))) // drift, which must disappear
		must(t, batch.Commit())
		b.addRecords(30)

		o := b.o
		o.Projection, o.Family, o.Source = name, family, source
		one, err := projections.Replay(t.Context(), o)
		must(t, err)
		must(t, source.Close())
		meta, err := projections.ReadMeta(one)
		must(t, err)
		if meta.CopyOf != filepath.Base(first) || meta.Projection != name {
			t.Fatalf("meta %+v", meta)
		}
		whole, err := projections.Replay(t.Context(), b.o)
		must(t, err)
		if diff := projectiontest.Difference(b.rows(t, whole), b.rows(t, one)); diff != "" {
			t.Fatalf("%s: %s", name, diff)
		}
	}
}

// TestReplayOneProjectionUntil builds a version with one projection that shows the past,
// and compares its rows with those at that time, and the rows of the others with their
// current ones.
func TestReplayOneProjectionUntil(t *testing.T) {
	b := newReplayBench(t, 60)
	whole, err := projections.Replay(t.Context(), b.o)
	must(t, err)
	o := b.o
	o.Until = &projections.Until{Time: b.records[len(b.records)/2].Time}
	past, err := projections.Replay(t.Context(), o)
	must(t, err)
	source, err := store.Open(whole, store.Options{})
	must(t, err)
	o.Projection, o.Family, o.Source = "places", store.FamilyPlaces, source
	one, err := projections.Replay(t.Context(), o)
	must(t, err)
	must(t, source.Close())
	family := func(dir string, family store.Family) (rows []projectiontest.Row) {
		for _, r := range b.rows(t, dir) {
			if r.Key[0] == byte(family) {
				rows = append(rows, r)
			}
		}
		return rows
	}
	for dir, f := range map[string]store.Family{past: store.FamilyPlaces, whole: store.FamilyCatalog} {
		want := family(dir, f)
		if diff := projectiontest.Difference(want, family(one, f)); diff != "" || len(want) == 0 {
			t.Errorf("family %c, %d rows: %s", f, len(want), diff)
		}
	}
	if meta, err := projections.ReadMeta(one); err != nil || !meta.IsFrozen() || meta.Projection != "places" {
		t.Errorf("meta %+v: %v", meta, err)
	}
}

// TestReplayUntil compares a version of the past with the rows of a store to which the
// records up to that point were applied, by positions and by time.
func TestReplayUntil(t *testing.T) {
	b := newReplayBench(t, 60)
	for _, n := range []int{0, 1, len(b.records) / 3, len(b.records) - 1} {
		moment := b.records[n].Time
		fresh := newReplayBench(t, 0)
		fresh.o.Objects, fresh.o.Open = b.o.Objects, b.o.Open
		positions := &projections.Until{Positions: []projections.Checkpoint{{Partition: 0}, {Partition: 1}}}
		for _, rec := range b.records {
			if !rec.Time.After(moment) {
				fresh.log.Add(rec)
				positions.Positions[rec.Position.Partition].Next = rec.Position.Offset + 1
			}
		}
		dir, err := projections.Replay(t.Context(), fresh.o)
		must(t, err)
		want := fresh.rows(t, dir)
		for _, until := range []*projections.Until{{Time: moment}, positions} {
			o := b.o
			o.Until = until
			dir, err := projections.Replay(t.Context(), o)
			must(t, err)
			if diff := projectiontest.Difference(want, b.rows(t, dir)); diff != "" {
				t.Fatalf("until %s: %s", until, diff)
			}
			meta, err := projections.ReadMeta(dir)
			if err != nil || !meta.IsFrozen() || len(meta.Until.Positions) != 2 || b.done != b.total {
				t.Fatalf("meta %+v, %d of %d records: %v", meta, b.done, b.total, err)
			}
		}
	}
}

// TestFrozenRunnerFollowsNothing checks that a version of the past does not change.
func TestFrozenRunnerFollowsNothing(t *testing.T) {
	s, log, p := openMemory(t), projectiontest.NewLog(1), &scripted{}
	log.Add(rawRecords(0, 0, "a", "b", "c")...)
	r := start(t, s, log, projections.Options{Projections: []projections.Projection{p}, Until: &projections.Until{Positions: []projections.Checkpoint{{Next: 2}}}})
	<-r.runner.CaughtUp()
	log.Add(rawRecords(0, 3, "d")...)
	r.stop()
	if got := strings.Join(p.applied, " "); got != "0/a 0/b" {
		t.Fatalf("applied %s, want \"0/a 0/b\"", got)
	}
	beyond := &projections.Until{Positions: []projections.Checkpoint{{Next: 5}}}
	runner, err := projections.New(projections.Options{Store: s, Log: log, Decoder: projections.NewDecoder(nil), Projections: []projections.Projection{p}, Until: beyond})
	must(t, err)
	if err := runner.Run(t.Context()); !errors.Is(err, projections.ErrUntil) {
		t.Fatalf("a moment beyond the log: %v, want %v", err, projections.ErrUntil)
	}
}

func TestParseUntil(t *testing.T) {
	for in, want := range map[string]string{
		"2026-03-04T05:06:07+01:00": "2026-03-04T04:06:07Z",
		"2026-03-04T05:06:07.5Z":    "2026-03-04T05:06:07.5Z",
		"0/17":                      "0/17",
		"quarry.events/3/0, 1/-1":   "3/0,1/-1",
		"yesterday":                 "",
		"":                          "",
		"0/1,0/2":                   "",
		"0/x":                       "",
		"quarry.deadletters/0/1":    "",
		"-1/4":                      "",
		"0/99999999999999999999":    "",
		"2026-03-04":                "",
		"0/1/2":                     "",
	} {
		u, err := projections.ParseUntil(in)
		if (err == nil) != (want != "") || err != nil && !errors.Is(err, projections.ErrUntil) || err == nil && u.String() != want {
			t.Errorf("%q: %v, %v", in, u, err)
		}
	}
	if u, err := projections.ParseUntil("2026-03-04T05:06:07Z"); err != nil || !u.Time.Equal(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)) {
		t.Errorf("%v, %v", u, err)
	}
}

func TestHomeRefusesNonsense(t *testing.T) {
	dir := t.TempDir()
	home, err := projections.OpenHome(dir)
	must(t, err)
	if err := home.Switch("/etc"); err == nil {
		t.Fatal("switched to a directory elsewhere")
	}
	must(t, os.WriteFile(filepath.Join(dir, "CURRENT"), []byte("../other\n"), 0o644))
	if _, err := home.Current(); err == nil || !strings.Contains(err.Error(), "CURRENT") {
		t.Fatalf("%v", err)
	}
}
