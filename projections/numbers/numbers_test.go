package numbers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/numbers"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var start = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// rig is a projection over an in-memory store to which tests apply events.
type rig struct {
	t       *testing.T
	memory  *storetest.Memory
	store   *store.Store
	numbers *numbers.Numbers
	applier *projectiontest.Applier
	reg     *prometheus.Registry
	after   failing
	next    event.Offset
}

// failing is a projection that rejects records if it is true, so that the changes of the
// projection before it are discarded.
type failing bool

func (*failing) Name() string { return "failing" }

func (*failing) SchemaVersion() int { return 1 }

func (f *failing) Apply(context.Context, *store.Batch, event.Record) error {
	if *f {
		return projections.ErrPoison
	}
	return nil
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, memory: storetest.NewMemory()}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *rig) open() {
	r.t.Helper()
	var err error
	r.store, err = store.Open("accounts", store.Options{FileSystem: r.memory.FileSystem(), CacheBytes: store.MinCacheBytes})
	must(r.t, err)
	decoder := projections.NewDecoder(nil)
	r.reg = prometheus.NewRegistry()
	r.numbers, err = numbers.Open(numbers.Options{Store: r.store, Decoder: decoder, Registerer: r.reg})
	must(r.t, err)
	p := []projections.Projection{r.numbers, &r.after}
	must(r.t, projections.CheckSchema(r.store, p))
	r.applier = &projectiontest.Applier{Store: r.store, Decoder: decoder, Projections: p}
}

func (r *rig) close() {
	r.numbers.Close()
	must(r.t, r.store.Close())
}

func record(t testing.TB, offset event.Offset, ev event.Event) event.Record {
	t.Helper()
	rec, err := event.Encode(event.Envelope{ID: fmt.Sprint(offset), Source: "/test", Time: start}, ev)
	must(t, err)
	rec.Position, rec.Time = event.Position{Topic: event.TopicAccounts, Offset: offset}, start
	return rec
}

// assign applies an event that names repositories.
func (r *rig) assign(ids ...code.RepositoryID) error {
	r.t.Helper()
	rec := record(r.t, r.next, &event.NumbersAssigned{Repositories: ids, At: start})
	r.next++
	return r.applier.Apply(context.Background(), rec)
}

// wantNumbers checks that exactly these repositories have the numbers from 1.
func (r *rig) wantNumbers(ids ...code.RepositoryID) {
	r.t.Helper()
	for i, id := range ids {
		number := code.RepositoryNumber(i + 1)
		if got := r.numbers.OfRepository(id); got != number {
			r.t.Errorf("repository %d has the number %d, want %d", id, got, number)
		}
		if got := r.numbers.Repository(number); got != id {
			r.t.Errorf("number %d belongs to %d, want %d", number, got, id)
		}
	}
	for _, number := range []code.RepositoryNumber{-1, 0, code.RepositoryNumber(len(ids) + 1)} {
		if got := r.numbers.Repository(number); got != 0 {
			r.t.Errorf("number %d belongs to %d, want none", number, got)
		}
	}
}

// TestNumbersFollowTheOrderOfTheLog names repositories several times, in one event and in
// several, as independent processes do.
func TestNumbersFollowTheOrderOfTheLog(t *testing.T) {
	r := newRig(t)
	must(t, r.assign(900, 7, 900))
	must(t, r.assign(7, 900))
	must(t, r.assign(55, 7, 8))
	r.wantNumbers(900, 7, 55, 8)
	if got := r.numbers.OfRepository(1); got != 0 {
		t.Errorf("a repository that no event names has the number %d", got)
	}
	r.close()
	r.open()
	r.wantNumbers(900, 7, 55, 8)
	must(t, r.assign(4))
	r.wantNumbers(900, 7, 55, 8, 4)
	if series, err := testutil.GatherAndCount(r.reg, "quarry_numbers_assigned"); series != 2 || err != nil {
		t.Errorf("%d series of quarry_numbers_assigned, want 2: %v", series, err)
	}
}

// TestConnectionsHaveNumbersOfTheirOwn checks that connections are numbered separately
// from repositories.
func TestConnectionsHaveNumbersOfTheirOwn(t *testing.T) {
	r := newRig(t)
	must(t, r.assign(11, 12))
	rec := record(t, r.next, &event.NumbersAssigned{Repositories: []code.RepositoryID{13}, Connections: []string{"hub", "lab", "hub"}, At: start})
	must(t, r.applier.Apply(context.Background(), rec))
	r.close()
	r.open()
	r.wantNumbers(11, 12, 13)
	for i, name := range []string{"hub", "lab"} {
		number := code.ConnectionNumber(i + 1)
		if got := r.numbers.OfConnection(name); got != number {
			t.Errorf("connection %s has the number %d, want %d", name, got, number)
		}
	}
	if r.numbers.OfConnection("other") != 0 {
		t.Error("a connection that no event names has a number")
	}
}

// TestDiscardedRecordsGiveNoNumber applies a record that another projection rejects.
func TestDiscardedRecordsGiveNoNumber(t *testing.T) {
	r := newRig(t)
	must(t, r.assign(11))
	r.after = true
	must(t, r.assign(12)) // the record goes to the dead letters
	r.after = false
	must(t, r.assign(13))
	r.wantNumbers(11, 13)
}

// TestNumbersEndAtTheLimit names more repositories than there are numbers.
func TestNumbersEndAtTheLimit(t *testing.T) {
	if code.MaxNumber != 16_777_215 || float32(code.MaxNumber) != code.MaxNumber {
		t.Fatalf("the last number is %d", code.MaxNumber)
	}
	r := newRig(t)
	r.numbers.Limit = 3
	must(t, r.assign(11, 12))
	must(t, r.assign(13, 14, 11))
	must(t, r.assign(15))
	r.wantNumbers(11, 12, 13)
	if r.numbers.OfRepository(14) != 0 || r.numbers.OfRepository(15) != 0 {
		t.Error("repositories beyond the limit have a number")
	}
	r.close()
	r.open()
	r.wantNumbers(11, 12, 13)
}

// TestNumbersConform replays, crashes and rebuilds: the same log yields the same numbers.
func TestNumbersConform(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 1))
	var records []event.Record
	for offset := range event.Offset(60) {
		ev := &event.NumbersAssigned{At: start}
		for range 1 + random.IntN(4) {
			ev.Repositories = append(ev.Repositories, code.RepositoryID(1+random.IntN(80)))
			if random.IntN(3) == 0 {
				ev.Connections = append(ev.Connections, fmt.Sprintf("hub-%d", random.IntN(9)))
			}
		}
		records = append(records, record(t, offset, ev))
	}
	projectiontest.Conform(t, records, nil, func(t *testing.T, s *store.Store, _ segmentstore.Store, d *projections.Decoder) ([]projections.Projection, func()) {
		n, err := numbers.Open(numbers.Options{Store: s, Decoder: d})
		must(t, err)
		return []projections.Projection{n}, n.Close
	})
}
