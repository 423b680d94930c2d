package views

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/seedtest"
)

// These tests check that each record takes effect exactly once in the projections of a
// server: whichever records are read again, and wherever the process dies, the store ends
// with the same rows as one that read every record once.

// effectHistory returns a random history with pushes, merges and the events that the
// ledger reads.
func effectHistory(t *testing.T, seed uint64, steps int) *worldIndex {
	t.Helper()
	x := newWorldIndex(t, seed)
	x.applyRecords(x.world.Register(0))
	for n := range steps {
		switch x.world.Rand.IntN(8) {
		case 0:
			x.mergeSegments()
		case 1:
			x.applyRecords(x.appendDelivery(n))
		case 2:
			x.answerLastPush(n)
		default:
			_, records := x.world.Step()
			x.applyRecords(records...)
		}
	}
	return x
}

// appendDelivery appends a delivery that led to no push.
func (x *worldIndex) appendDelivery(n int) event.Record {
	outcome, reason := event.DeliveryIgnored, "a ping"
	if n%2 == 0 {
		outcome, reason = event.DeliveryRefused, "signature is wrong"
	}
	return x.world.Append(int32(n%historyPartitions), &event.Delivery{
		Connection: "hub", DeliveryID: fmt.Sprint("d-", n), Outcome: outcome, Reason: reason, ReceivedAt: x.records[0].Time,
	})
}

// answerLastPush appends the outcome of the last push, if there is one.
func (x *worldIndex) answerLastPush(n int) {
	for i := len(x.records) - 1; i >= 0; i-- {
		_, ev, err := event.Decode(x.records[i])
		if push, ok := ev.(*event.Push); ok && err == nil {
			at := x.records[i].Position
			x.applyRecords(x.world.Append(at.Partition, &event.PushesHandled{
				Repository: push.Repository, At: x.records[i].Time, Pushes: []event.HandledPush{{Offset: at.Offset, Outcome: event.PushUnchanged}},
			}))
			return
		}
	}
	x.applyRecords(x.appendDelivery(n))
}

// openRegistered opens every projection that a server has.
func openRegistered(t *testing.T, s *store.Store, objects segmentstore.Store, d *projections.Decoder) ([]projections.Projection, func()) {
	t.Helper()
	opened, closeRows, err := versions.OpenRows(t.Context(), s, objects, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return opened, closeRows
}

// TestEffectIsAFunctionOfTheLog runs the conformance suite over all projections together:
// fresh stores, repeated suffixes, power failures after records.
func TestEffectIsAFunctionOfTheLog(t *testing.T) {
	x := effectHistory(t, seedtest.ChooseSeed(t), 40)
	projectiontest.Conform(t, x.records, x.objects, openRegistered)
}

// rowsAfterReplay returns the rows that a Runner derives from a log, after the store is
// reopened, which removes segments that nothing names.
func (x *worldIndex) rowsAfterReplay(m *storetest.Memory, log projections.Tailer) (rows []projectiontest.Row, err error) {
	err = x.withProjections(m, func(s *store.Store, d *projections.Decoder, p []projections.Projection) error {
		return followLog(s, log, d, p, nil)
	})
	if err != nil {
		return nil, err
	}
	err = x.withProjections(m, func(s *store.Store, _ *projections.Decoder, _ []projections.Projection) (err error) {
		rows, err = projectiontest.Dump(s)
		return err
	})
	return rows, err
}

// withProjections opens all projections over a store and calls f with them.
func (x *worldIndex) withProjections(m *storetest.Memory, f func(*store.Store, *projections.Decoder, []projections.Projection) error) error {
	s, err := store.Open("store", store.Options{FileSystem: m.FileSystem(), CacheBytes: store.MinCacheBytes})
	if err != nil {
		return err
	}
	d := projections.NewDecoder(x.objects)
	p, closeAll := openRegistered(x.t, s, x.objects, d)
	err = f(s, d, p)
	closeAll()
	return errors.Join(err, s.Close())
}

// followLog applies all records of the log. holds is projections.Options.Holds.
func followLog(s *store.Store, log projections.Tailer, d *projections.Decoder, p []projections.Projection, holds func(projections.Projection, int32) bool) error {
	r, err := projections.New(projections.Options{Store: s, Log: log, Decoder: d, Projections: p, Holds: holds})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	select {
	case <-r.CaughtUp():
		stop()
		return <-done
	case err := <-done:
		return err
	}
}

func (x *worldIndex) newLog() *projectiontest.Log {
	l := projectiontest.NewLog(historyPartitions)
	l.Add(x.records...)
	return l
}

// again is a log that delivers a random suffix of its records twice, like a consumer
// group that lost its position.
type again struct {
	*projectiontest.Log
	mu  sync.Mutex
	rng *rand.Rand
}

func (a *again) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (event.Reader, error) {
	a.mu.Lock()
	back := event.Offset(a.rng.Int64N(int64(from) + 1))
	a.mu.Unlock()
	return a.Log.Tail(ctx, topic, partition, from-back)
}

// TestSuffixesAgainChangeNothing covers the duplicates that the checkpoint handles: a
// Runner drops records that it has already applied.
func TestSuffixesAgainChangeNothing(t *testing.T) {
	seed := seedtest.ChooseSeed(t)
	x := effectHistory(t, seed, 60)
	want, err := x.rowsAfterReplay(storetest.NewMemory(), x.newLog())
	if err != nil {
		t.Fatal(err)
	}
	m, log := storetest.NewMemory(), &again{Log: projectiontest.NewLog(historyPartitions), rng: rand.New(rand.NewPCG(seed, 1))}
	const rounds = 20
	var got []projectiontest.Row
	for n := range rounds {
		log.Add(x.records[n*len(x.records)/rounds : (n+1)*len(x.records)/rounds]...)
		if got, err = x.rowsAfterReplay(m, log); err != nil {
			t.Fatal(err)
		}
	}
	if d := projectiontest.Difference(want, got); d != "" {
		t.Fatal(d)
	}
}

// TestEventsAgainChangeNothing covers the duplicates that only the rows handle: if a
// worker or compactor dies before it records that it appended an event, it appends the
// event again. The duplicate changes no row except the checkpoint, and the position of an
// event that could not be applied (places, kind b).
func TestEventsAgainChangeNothing(t *testing.T) {
	seed := seedtest.ChooseSeed(t)
	x := effectHistory(t, seed, 60)
	withoutPositions := func(rows []projectiontest.Row, err error) []projectiontest.Row {
		if err != nil {
			t.Fatal(err)
		}
		var kept []projectiontest.Row
		for _, r := range rows {
			if r.Key[0] != byte(store.FamilyMeta) && string(r.Key[:2]) != "pb" {
				kept = append(kept, r)
			}
		}
		return kept
	}
	want := withoutPositions(x.rowsAfterReplay(storetest.NewMemory(), x.newLog()))
	rng := rand.New(rand.NewPCG(seed, 2))
	from, repeated := rng.IntN(len(x.records)/2), 0
	for _, rec := range x.records[from:] {
		_, ev, err := event.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		switch ev.(type) {
		case *event.RevisionIndexed, *event.SegmentsMerged, *event.PushesHandled:
			x.records = append(x.records, x.world.Append(rec.Position.Partition, ev))
			repeated++
		}
	}
	if d := projectiontest.Difference(want, withoutPositions(x.rowsAfterReplay(storetest.NewMemory(), x.newLog()))); d != "" || repeated == 0 {
		t.Fatalf("%d events again, from record %d on: %s", repeated, from, d)
	}
}

// crashes collects the states that a crash would leave of a file system, at random points
// among the operations that change it: either the synced data, or all of it. It never
// keeps only a part of the unsynced data. Pebble relies on directory entries to survive
// in the order of their creation, as journals guarantee, but the file system of the tests
// may keep the marker of a manifest and lose the manifest. The conformance suite loses
// parts, after records.
type crashes struct {
	memory *storetest.Memory
	every  int // on average
	mu     struct {
		sync.Mutex
		rng  *rand.Rand
		left []*storetest.Memory
		seen int
	}
}

func (c *crashes) beforeWrite() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.seen++
	if c.mu.rng.IntN(c.every) == 0 {
		c.mu.left = append(c.mu.left, c.memory.Crash(100*c.mu.rng.IntN(2), c.mu.rng.Uint64()))
	}
}

// TestKilledAt200Points kills a store at 200 random operations on its files, and checks
// that each remaining state, once it continues, ends with the same rows as a store that
// was not killed. Some of the states are killed again.
func TestKilledAt200Points(t *testing.T) {
	const kills = 200
	seed := seedtest.ChooseSeed(t)
	x := effectHistory(t, seed, 30)
	want, err := x.rowsAfterReplay(storetest.NewMemory(), x.newLog())
	if err != nil {
		t.Fatal(err)
	}
	killed, operations := 0, 0
	begin := storetest.NewMemory()
	for round := uint64(0); killed < kills; round++ {
		c := &crashes{memory: begin, every: 12}
		c.mu.rng = rand.New(rand.NewPCG(seed, round))
		c.memory.BeforeWrites(c.beforeWrite)
		if _, err := x.rowsAfterReplay(c.memory, x.newLog()); err != nil {
			t.Fatal(err)
		}
		operations += c.mu.seen
		begin = storetest.NewMemory()
		for n, left := range c.mu.left[:min(len(c.mu.left), kills-killed)] {
			killed++
			if c.mu.rng.IntN(8) == 0 {
				begin = left.Crash(100, 0) // the next round continues from here
			}
			got, err := x.rowsAfterReplay(left, x.newLog())
			if err != nil {
				t.Fatalf("round %d, kill %d: %v", round, n, err)
			}
			if d := projectiontest.Difference(want, got); d != "" {
				t.Fatalf("round %d, kill %d: %s", round, n, d)
			}
		}
	}
	t.Logf("killed at %d of %d operations on files, over %d records and %d rows", killed, operations, len(x.records), len(want))
}
