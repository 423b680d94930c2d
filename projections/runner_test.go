package projections_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scripted is a projection that writes one row for each record and fails as
// configured.
type scripted struct {
	mu        sync.Mutex
	fail      map[string][]error // by the record's value
	applied   []string
	published int
	seen      int
	pending   int
}

func (s *scripted) Name() string       { return "scripted" }
func (s *scripted) SchemaVersion() int { return 1 }

func (s *scripted) Apply(_ context.Context, b *store.Batch, rec event.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := string(rec.Value)
	if errs := s.fail[v]; len(errs) > 0 {
		s.fail[v] = errs[1:]
		if errs[0] != nil {
			return errs[0]
		}
	}
	s.pending++
	s.applied = append(s.applied, fmt.Sprintf("%d/%s", rec.Position.Partition, v))
	return b.Set(append([]byte("c"), v...), nil)
}

func (s *scripted) Committed(int32) { s.mu.Lock(); s.seen += s.pending; s.pending = 0; s.mu.Unlock() }
func (s *scripted) Discarded(int32) { s.mu.Lock(); s.pending = 0; s.mu.Unlock() }
func (s *scripted) Publish(int32)   { s.mu.Lock(); s.published = s.seen; s.mu.Unlock() }

// rawRecords returns records with values that cannot be decoded.
func rawRecords(partition int32, from event.Offset, values ...string) []event.Record {
	var records []event.Record
	for i, v := range values {
		records = append(records, event.Record{
			Position: event.Position{Topic: event.TopicEvents, Partition: partition, Offset: from + event.Offset(i)},
			Value:    []byte(v), Time: time.Now(),
		})
	}
	return records
}

type rig struct {
	t      *testing.T
	log    *projectiontest.Log
	store  *store.Store
	reg    *prometheus.Registry
	runner *projections.Runner
	stop   func()
}

func start(t *testing.T, s *store.Store, log *projectiontest.Log, o projections.Options) *rig {
	t.Helper()
	r := &rig{t: t, log: log, store: s, reg: prometheus.NewPedanticRegistry()}
	o.Store, o.Log, o.Registerer = s, log, r.reg
	if o.Decoder == nil {
		o.Decoder = projections.NewDecoder(nil)
	}
	var err error
	r.runner, err = projections.New(o)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.runner.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		must(t, <-done)
	})
	t.Cleanup(r.stop)
	return r
}

func (r *rig) awaitPublished(records ...event.Record) {
	r.t.Helper()
	var positions []event.Position
	for _, rec := range records {
		positions = append(positions, rec.Position)
	}
	must(r.t, r.runner.WaitFor(clocktest.NewContext(r.t), positions...))
}

// metricValue returns the value of a metric, or the count of a histogram.
func (r *rig) metricValue(name, label string) float64 {
	r.t.Helper()
	families, err := r.reg.Gather()
	must(r.t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if label == "" || len(m.GetLabel()) > 0 && m.GetLabel()[0].GetValue() == label {
				return value(m)
			}
		}
	}
	r.t.Fatalf("no metric %s{%s}", name, label)
	return 0
}

func value(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	}
	return float64(m.Histogram.GetSampleCount())
}

func openMemory(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open("store", store.Options{FileSystem: storetest.NewMemory().FileSystem()})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func TestRunnerAppliesEveryPartitionInOrder(t *testing.T) {
	log, p := projectiontest.NewLog(2), &scripted{}
	first := append(rawRecords(0, 0, "a", "b"), rawRecords(1, 0, "x")...)
	log.Add(first...)
	r := start(t, openMemory(t), log, projections.Options{Projections: []projections.Projection{p}})
	<-r.runner.CaughtUp()
	more := append(rawRecords(0, 5, "c"), rawRecords(1, 1, "y")...) // offsets increase but may have gaps
	log.Add(more...)
	r.awaitPublished(more...)
	r.stop()
	got := map[byte]string{}
	for _, s := range p.applied {
		got[s[0]] += s[2:]
	}
	if got['0'] != "abc" || got['1'] != "xy" || p.published != 5 {
		t.Fatalf("applied %v, published %d", p.applied, p.published)
	}
	if c := r.runner.Checkpoints(); c[0].Next != 6 || c[1].Next != 2 {
		t.Fatalf("checkpoints %v", c)
	}
}

func TestRunnerGoesOnFromTheCheckpoint(t *testing.T) {
	s, log, p := openMemory(t), projectiontest.NewLog(1), &scripted{}
	log.Add(rawRecords(0, 0, "a", "b")...)
	r := start(t, s, log, projections.Options{Projections: []projections.Projection{p}})
	<-r.runner.CaughtUp()
	r.stop()
	log.Add(rawRecords(0, 2, "c")...)
	r = start(t, s, log, projections.Options{Projections: []projections.Projection{p}})
	<-r.runner.CaughtUp()
	r.stop()
	if got := strings.Join(p.applied, " "); got != "0/a 0/b 0/c" {
		t.Fatalf("applied %s, want \"0/a 0/b 0/c\"", got)
	}
}

func TestRunnerBuriesPoison(t *testing.T) {
	unknown := errors.New("a bug")
	p := &scripted{fail: map[string][]error{
		"poison": {projections.ErrPoison},
		"twice":  {unknown, unknown, nil},
		"always": {unknown, unknown, unknown, unknown},
	}}
	log := projectiontest.NewLog(1)
	records := rawRecords(0, 0, "a", "poison", "twice", "always", "b")
	records[1].Headers = []event.Header{{Name: "ce_id", Value: []byte("7")}}
	log.Add(records...)
	s := openMemory(t)
	r := start(t, s, log, projections.Options{Projections: []projections.Projection{p}, DeadLetters: log, Attempts: 3})
	r.awaitPublished(records...)
	if got := strings.Join(p.applied, " "); got != "0/a 0/twice 0/b" {
		t.Fatalf("applied %s, want \"0/a 0/twice 0/b\"", got)
	}
	dead := log.DeadLetters()
	if len(dead) != 2 || string(dead[0].Value) != "poison" || string(dead[1].Value) != "always" {
		t.Fatalf("dead letters %v", dead)
	}
	headers := map[string]string{}
	for _, h := range dead[0].Headers {
		headers[h.Name] = string(h.Value)
	}
	if last := dead[1].Headers[len(dead[1].Headers)-1]; last.Name != event.HeaderDeadAttempts || string(last.Value) != "3" {
		t.Fatalf("last header %s: %s", last.Name, last.Value)
	}
	if headers["ce_id"] != "7" || headers[event.HeaderDeadPosition] != "quarry.events/0/1" || !strings.Contains(headers[event.HeaderDeadReason], "cannot be applied") {
		t.Fatalf("headers %v", headers)
	}
	if n := r.metricValue("quarry_projections_records_total", "poison"); n != 2 {
		t.Fatalf("%v poison records counted", n)
	}
	if _, ok, _ := s.Read([]byte("cpoison")); ok {
		t.Fatal("a poison record left a row")
	}
}

func TestRunnerWaitsForTheDeadLetters(t *testing.T) {
	p := &scripted{fail: map[string][]error{"poison": {projections.ErrPoison}}}
	log := projectiontest.NewLog(1)
	failed := log.FailAppends(errors.New("disk full"))
	records := rawRecords(0, 0, "poison", "b")
	log.Add(records...)
	r := start(t, openMemory(t), log, projections.Options{Projections: []projections.Projection{p}, DeadLetters: log})
	<-failed
	<-failed
	p.mu.Lock()
	if len(p.applied) > 0 {
		t.Fatal("the record vanished")
	}
	p.mu.Unlock()
	log.FailAppends(nil)
	r.awaitPublished(records...)
	if len(log.DeadLetters()) != 1 {
		t.Fatalf("%d dead letters", len(log.DeadLetters()))
	}
}

func TestRunnerWaitsForAStore(t *testing.T) {
	gone := fmt.Errorf("%w: connection refused", projections.ErrUnavailable)
	p := &scripted{fail: map[string][]error{"a": {gone, gone, gone, gone}}}
	log := projectiontest.NewLog(1)
	records := rawRecords(0, 0, "a")
	log.Add(records...)
	r := start(t, openMemory(t), log, projections.Options{Projections: []projections.Projection{p}, DeadLetters: log, Attempts: 2})
	r.awaitPublished(records...)
	if len(log.DeadLetters()) != 0 || len(p.applied) != 1 || r.metricValue("quarry_projections_blocked", "") != 0 {
		t.Fatalf("applied %v, %d dead letters", p.applied, len(log.DeadLetters()))
	}
}

func TestRunnerRefusesAnotherSchema(t *testing.T) {
	s := openMemory(t)
	p := []projections.Projection{&scripted{}}
	must(t, projections.CheckSchema(s, p))
	must(t, projections.CheckSchema(s, p))
	b := s.NewBatch()
	must(t, b.SetSchema("scripted", 2))
	must(t, b.Commit())
	if err := projections.CheckSchema(s, p); !errors.Is(err, projections.ErrSchema) || !strings.Contains(err.Error(), "quarry replay") {
		t.Fatalf("%v", err)
	}
}

func TestWaitForUnknownPartition(t *testing.T) {
	r := start(t, openMemory(t), projectiontest.NewLog(1), projections.Options{Projections: []projections.Projection{&scripted{}}})
	<-r.runner.CaughtUp()
	if err := r.runner.WaitFor(context.Background(), event.Position{Topic: event.TopicEvents, Partition: 1}); err == nil {
		t.Fatal("waited for a partition that is not there")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.runner.WaitFor(ctx, event.Position{Topic: event.TopicEvents}); !errors.Is(err, context.Canceled) {
		t.Fatalf("WaitFor with a canceled context = %v, want %v", err, context.Canceled)
	}
}

// openBoth opens the projections that the product uses.
func openBoth(ctx context.Context, s *store.Store, objects segmentstore.Store, d *projections.Decoder) ([]projections.Projection, func(), error) {
	c, err := catalog.Open(catalog.Options{Store: s, Decoder: d})
	if err != nil {
		return nil, nil, err
	}
	p, err := places.Open(ctx, places.Options{Store: s, Decoder: d, Objects: objects})
	if err != nil {
		return nil, nil, err
	}
	return []projections.Projection{c, p}, func() { c.Close(); p.Close() }, nil
}

// TestFreshnessIsMeasuredLiveOnly checks that the freshness of historical records is not
// measured.
func TestFreshnessIsMeasuredLiveOnly(t *testing.T) {
	objects, err := segmentstore.OpenDirectory(t.TempDir())
	must(t, err)
	w := projectiontest.NewWorld(t, 5, 1, objects)
	log, s := projectiontest.NewLog(1), openMemory(t)
	indexed := 0
	add := func() (last event.Record) {
		for range 20 {
			_, records := w.Step()
			log.Add(records...)
			for _, rec := range records {
				if _, ev, err := event.Decode(rec); err == nil && ev.EventType() == event.TypeRevisionIndexed {
					indexed++
				}
				last = rec
			}
		}
		return last
	}
	add()
	d := projections.NewDecoder(objects)
	p, closeAll, err := openBoth(context.Background(), s, objects, d)
	must(t, err)
	defer closeAll()
	r := start(t, s, log, projections.Options{Projections: p, Decoder: d})
	<-r.runner.CaughtUp()
	if n := r.metricValue("quarry_push_to_searchable_seconds", ""); n != 0 {
		t.Fatalf("%v observations of history", n)
	}
	indexed = 0
	r.awaitPublished(add())
	if n := r.metricValue("quarry_push_to_searchable_seconds", ""); n != float64(indexed) {
		t.Fatalf("%v observations, want %d", n, indexed)
	}
	lag, err := r.runner.Lag(context.Background())
	must(t, err)
	if lag[0].Records != 0 || lag[0].Seconds != 0 {
		t.Fatalf("lag %+v", lag)
	}
	r.stop()
}

func TestConformanceOfBoth(t *testing.T) {
	objects, err := segmentstore.OpenDirectory(t.TempDir())
	must(t, err)
	w := projectiontest.NewWorld(t, 11, 3, objects)
	var records []event.Record
	for range 40 {
		_, more := w.Step()
		records = append(records, more...)
	}
	// All projections skip garbage, deterministically.
	records = append(records, rawRecords(0, records[len(records)-1].Position.Offset+1000, "garbage")...)
	projectiontest.Conform(t, records, objects, func(t *testing.T, s *store.Store, objects segmentstore.Store, d *projections.Decoder) ([]projections.Projection, func()) {
		p, closeAll, err := openBoth(context.Background(), s, objects, d)
		must(t, err)
		return p, closeAll
	})
}
