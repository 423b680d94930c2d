package deliveries_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/deliveries"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// rig is a ledger over an in-memory store, and the log from which it is built.
type rig struct {
	t       *testing.T
	memory  *storetest.Memory
	objects segmentstore.Store
	ledger  *deliveries.Ledger
	applier *projectiontest.Applier
	close   func()
	next    map[int32]event.Offset
	serial  int
}

func newRig(t *testing.T) *rig {
	objects, err := segmentstore.OpenDirectory(t.TempDir())
	must(t, err)
	r := &rig{t: t, memory: storetest.NewMemory(), objects: objects, next: map[int32]event.Offset{}}
	r.open(nil)
	t.Cleanup(func() { r.close() })
	return r
}

func (r *rig) open(reg prometheus.Registerer) {
	r.t.Helper()
	s, err := store.Open("store", store.Options{FileSystem: r.memory.FileSystem()})
	must(r.t, err)
	d := projections.NewDecoder(r.objects)
	r.ledger, err = deliveries.Open(deliveries.Options{Store: s, Decoder: d, Now: func() time.Time { return start.Add(time.Hour) }, Registerer: reg})
	must(r.t, err)
	r.applier = &projectiontest.Applier{Store: s, Decoder: d, Projections: []projections.Projection{r.ledger}}
	r.close = func() {
		r.ledger.Close()
		must(r.t, s.Close())
	}
}

// append returns the record of ev at the end of a partition.
func (r *rig) append(partition int32, ev event.Event) event.Record {
	r.t.Helper()
	rec, err := event.Encode(event.Envelope{ID: fmt.Sprint("event-", r.serial), Source: "/webhooks/github/hub", Time: start}, ev)
	must(r.t, err)
	rec.Position = event.Position{Topic: event.TopicEvents, Partition: partition, Offset: r.next[partition]}
	rec.Time = r.now()
	r.next[partition]++
	r.serial++
	return rec
}

func (r *rig) now() time.Time { return start.Add(time.Duration(r.serial) * time.Second) }

func (r *rig) apply(records ...event.Record) {
	r.t.Helper()
	for _, rec := range records {
		must(r.t, r.applier.Apply(context.Background(), rec))
	}
}

// TestScripts runs the scripts of testdata. Arguments have the form name=value; those of
// a push or delivery are all optional. Every command except list and show prints the
// position of its record.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		r := newRig(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return r.runCommand(d) })
	})
}

func (r *rig) runCommand(d *datadriven.TestData) string {
	a := args{d}
	switch d.Cmd {
	case "keep":
		r.t.Cleanup(deliveries.KeepPushes(a.number("pushes", 0)))
		return ""
	case "reopen":
		r.close()
		r.open(nil)
		return ""
	case "list":
		return r.list(a)
	}
	rec := r.append(int32(a.number("partition", 0)), r.event(a))
	r.apply(rec)
	return rec.Position.String() + "\n"
}

func (r *rig) event(a args) event.Event {
	id := code.RepositoryID(a.number("repository", 7))
	switch a.d.Cmd {
	case "push":
		return &event.Push{
			Repository: id, Ref: a.ref(), Action: event.ActionRefresh, Connection: a.text("connection", ""),
			DeliveryID: a.text("delivery", ""), BodySHA256: a.body(), ReceivedAt: r.now(),
		}
	case "indexed":
		ev := &event.RevisionIndexed{
			Repository: id, Ref: a.ref(), Commit: code.CommitID(strings.Repeat(a.text("commit", "a"), 40)),
			Cause:    event.Position{Topic: event.TopicEvents, Partition: int32(a.number("partition", 0)), Offset: event.Offset(a.number("cause", 0))},
			PushedAt: start, IndexedAt: r.now(), Changes: []event.Change{{Path: "a"}, {Path: "b"}},
			Segments: []event.SegmentRef{{ID: strings.Repeat("0", 32), Documents: 2}},
		}
		if a.text("commit", "a") == "none" {
			ev.Commit, ev.Segments = "", nil
		}
		if a.text("object", "") != "" {
			ev.Changes, ev.ChangesObject = nil, "manifest-1"
		}
		return ev
	case "handled":
		return &event.PushesHandled{
			Repository: id, At: r.now(),
			Pushes: []event.HandledPush{{Offset: event.Offset(a.number("offset", 0)), Outcome: event.PushOutcome(a.text("outcome", "unchanged"))}},
		}
	case "delivery":
		ev := &event.Delivery{
			Connection: a.text("connection", "hub"), DeliveryID: a.text("delivery", "d"), Outcome: event.DeliveryOutcome(a.text("outcome", "refused")),
			Reason: a.text("reason", ""), BodySHA256: a.body(), Suppressed: int64(a.number("suppressed", 0)), ReceivedAt: r.now(),
		}
		if ev.Outcome == event.DeliveryDuplicate {
			ev.Of = &event.Position{Topic: event.TopicEvents, Partition: int32(a.number("partition", 0)), Offset: event.Offset(a.number("of", 0))}
		}
		return ev
	}
	r.t.Fatalf("unknown command %s", a.d.Cmd)
	return nil
}

func (r *rig) list(a args) string {
	q := ledger.Query{
		Connection: a.text("connection", ""), DeliveryID: a.text("delivery", ""), Repository: code.RepositoryID(a.number("repository", 0)),
		Outcome: a.text("outcome", ""), Limit: a.number("limit", 100),
	}
	if n := a.number("since", -1); n >= 0 {
		q.Since = start.Add(time.Duration(n) * time.Second)
	}
	var b strings.Builder
	for {
		page, err := r.ledger.List(q)
		must(r.t, err)
		for _, d := range page.Deliveries {
			again, err := r.ledger.Get(d.Position)
			must(r.t, err)
			if formatDelivery(again) != formatDelivery(d) {
				fmt.Fprintf(&b, "! got %s", formatDelivery(again))
			}
			b.WriteString(formatDelivery(d))
		}
		if page.Next == "" {
			return b.String()
		}
		b.WriteString("--\n")
		q.Cursor = page.Next
	}
}

func formatDelivery(d *ledger.Delivery) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d/%d %s", d.Position.Partition, d.Position.Offset, d.ReceivedAt.Format("04:05"))
	for _, s := range []string{d.Connection, d.DeliveryID, d.Outcome, d.Reason} {
		if s != "" {
			fmt.Fprintf(&b, " %s", s)
		}
	}
	if d.Repository != 0 {
		fmt.Fprintf(&b, " repository %d", d.Repository)
	}
	if d.Of != nil {
		fmt.Fprintf(&b, " of %d/%d", d.Of.Partition, d.Of.Offset)
	}
	if d.Suppressed > 0 {
		fmt.Fprintf(&b, " suppressed %d", d.Suppressed)
	}
	if d.Duplicates > 0 {
		fmt.Fprintf(&b, " duplicates %d, last %s", d.Duplicates, d.LastDuplicateAt.Format("04:05"))
	}
	b.WriteByte('\n')
	for i := range d.Pushes {
		b.WriteString(printPush(&d.Pushes[i]))
	}
	return b.String()
}

func printPush(p *ledger.Push) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %d %q %s", p.Position.Offset, string(p.Ref), p.Outcome)
	if p.Answered == nil {
		return b.String() + "\n"
	}
	fmt.Fprintf(&b, " %.4s by %d, done %s", p.Commit, p.Answered.Offset, p.DoneAt.Format("04:05"))
	if p.Cause != nil {
		fmt.Fprintf(&b, ", with %d", p.Cause.Offset)
	}
	if p.Segments > 0 {
		fmt.Fprintf(&b, ", %d documents in %d segments", p.Documents, p.Segments)
	}
	if p.Changes != nil {
		fmt.Fprintf(&b, ", %d changes", *p.Changes)
	}
	if !p.SearchableAt.IsZero() {
		fmt.Fprintf(&b, ", searchable %s here %v", p.SearchableAt.Format("15:04:05"), p.Here)
	}
	return b.String() + "\n"
}

// args parses the arguments of a command.
type args struct{ d *datadriven.TestData }

func (a args) text(name, def string) string {
	if arg, ok := a.d.Arg(name); ok {
		return arg.Vals[0]
	}
	return def
}

func (a args) number(name string, def int) int {
	if n, err := strconv.Atoi(a.text(name, "")); err == nil {
		return n
	}
	return def
}

func (a args) ref() code.Ref {
	name := a.text("ref", "main")
	if name == "all" {
		return ""
	}
	return code.BranchRef(name)
}

func (a args) body() string {
	if s := a.text("body", ""); s != "" {
		return strings.Repeat(s, 64)
	}
	return ""
}

// randomHistory returns a possible log of a world with few repositories, refs and
// deliveries.
func randomHistory(r *rig, seed uint64, n int) []event.Record {
	rnd := rand.New(rand.NewPCG(seed, 3))
	var records []event.Record
	add := func(partition int32, ev event.Event) { records = append(records, r.append(partition, ev)) }
	for len(records) < n {
		partition := int32(rnd.IntN(2))
		id := code.RepositoryID(1 + 2*rnd.IntN(2) + int(partition))
		ref := code.BranchRef(fmt.Sprint("b", rnd.IntN(3)))
		connection, delivery := []string{"", "hub"}[rnd.IntN(2)], fmt.Sprint("d", rnd.IntN(12))
		at := event.Offset(rnd.IntN(int(r.next[partition]) + 1))
		switch rnd.IntN(8) {
		case 0:
			add(partition, &event.PushesHandled{Repository: id, At: r.now(), Pushes: []event.HandledPush{{Offset: at, Outcome: event.PushUnchanged}, {Offset: at + 1, Outcome: event.PushUnselected}}})
		case 1, 2:
			add(partition, &event.RevisionIndexed{Repository: id, Ref: ref, Cause: event.Position{Topic: event.TopicEvents, Partition: partition, Offset: at}, PushedAt: start, IndexedAt: r.now()})
		case 3:
			add(partition, &event.Delivery{Connection: "hub", DeliveryID: delivery, Outcome: event.DeliveryDuplicate, Of: &event.Position{Topic: event.TopicEvents, Partition: partition, Offset: at}, ReceivedAt: r.now()})
		case 4:
			add(partition, &event.Delivery{Connection: "hub", DeliveryID: delivery, Outcome: event.DeliveryIgnored, Reason: "a ping", ReceivedAt: r.now()})
		default:
			if connection == "" {
				delivery = ""
			}
			add(partition, &event.Push{Repository: id, Ref: ref, Action: event.ActionUpdated, Connection: connection, DeliveryID: delivery, ReceivedAt: r.now()})
		}
	}
	return records
}

func TestConformance(t *testing.T) {
	t.Cleanup(deliveries.KeepPushes(9))
	r := newRig(t)
	projectiontest.Conform(t, randomHistory(r, 1, 150), r.objects, func(t *testing.T, s *store.Store, _ segmentstore.Store, d *projections.Decoder) ([]projections.Projection, func()) {
		l, err := deliveries.Open(deliveries.Options{Store: s, Decoder: d})
		must(t, err)
		return []projections.Projection{l}, l.Close
	})
}

// TestBounds checks that the number of entries is bounded, and that every row belongs to
// an existing entry.
func TestBounds(t *testing.T) {
	const keep = 9
	t.Cleanup(deliveries.KeepPushes(keep))
	for seed := range uint64(4) {
		r := newRig(t)
		for i, rec := range randomHistory(r, seed, 300) {
			r.apply(rec)
			page, err := r.ledger.List(ledger.Query{Limit: 1000})
			must(t, err)
			kept, oldest, waiting, without, withID := map[int32]int{}, map[int32]int{}, 0, 0, 0
			for _, d := range page.Deliveries {
				oldest[d.Position.Partition] = max(1, len(d.Pushes))
				kept[d.Position.Partition] += oldest[d.Position.Partition]
				if d.DeliveryID != "" {
					withID++
				}
				if len(d.Pushes) == 0 {
					without++
				}
				for _, p := range d.Pushes {
					if p.Outcome == ledger.OutcomeWaiting {
						waiting++
					}
				}
			}
			rows := countRows(t, r.applier.Store)
			over := func(partition int32) bool { return kept[partition] > keep+oldest[partition]-1 }
			if over(0) || over(1) || rows['o'] != waiting || rows['e'] != len(page.Deliveries) || rows['p'] != kept[0]+kept[1]-without || rows['k'] > rows['p'] || rows['i'] != withID || rows['r'] > rows['p'] {
				t.Fatalf("seed %d, record %d: kept %v, %d waiting, rows %v", seed, i, kept, waiting, rows)
			}
		}
	}
}

// TestDeliveryIsFoundByItsID bounds the number of entries that a list may read to those
// with the delivery ID, among many others: the result is complete, with and without the
// connection, in every partition.
func TestDeliveryIsFoundByItsID(t *testing.T) {
	r := newRig(t)
	push := func(partition int32, connection, id string) {
		r.apply(r.append(partition, &event.Push{Repository: code.RepositoryID(1 + partition), Ref: "refs/heads/main", Action: event.ActionUpdated, Connection: connection, DeliveryID: id, ReceivedAt: r.now()}))
	}
	push(0, "hub", "wanted")
	push(1, "lab", "wanted")
	for i := range 100 {
		push(int32(i%2), "hub", fmt.Sprint("other-", i))
	}
	r.apply(r.append(0, &event.Delivery{Connection: "hub", DeliveryID: "wanted", Outcome: event.DeliveryIgnored, Reason: "a ping", ReceivedAt: r.now()}))
	t.Cleanup(deliveries.ScanAtMost(3))
	for _, test := range []struct {
		query ledger.Query
		want  string
	}{
		{ledger.Query{DeliveryID: "wanted"}, "0/51 ignored; 1/0 waiting; 0/0 waiting"},
		{ledger.Query{DeliveryID: "wanted", Connection: "lab"}, "1/0 waiting"},
		{ledger.Query{DeliveryID: "wanted", Outcome: "ignored"}, "0/51 ignored"},
		{ledger.Query{DeliveryID: "wanted", Since: start.Add(100 * time.Second)}, "0/51 ignored"},
		{ledger.Query{DeliveryID: "other-7"}, "1/4 waiting"},
		{ledger.Query{DeliveryID: "want"}, ""},
	} {
		test.query.Limit = 10
		page, err := r.ledger.List(test.query)
		must(t, err)
		var got []string
		for _, d := range page.Deliveries {
			outcome := d.Outcome
			if len(d.Pushes) > 0 {
				outcome = d.Pushes[0].Outcome
			}
			got = append(got, fmt.Sprintf("%d/%d %s", d.Position.Partition, d.Position.Offset, outcome))
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%+v: got %q, want %q", test.query, got, test.want)
		}
		if len(got) < 3 && page.Next != "" {
			t.Errorf("%+v: further entries were looked at", test.query)
		}
	}
}

func countRows(t *testing.T, s *store.Store) map[byte]int {
	t.Helper()
	rows, err := projectiontest.Dump(s)
	must(t, err)
	n := map[byte]int{}
	for _, row := range rows {
		if row.Key[0] == byte(store.FamilyDeliveries) {
			n[row.Key[1]]++
		}
	}
	return n
}

func TestMetrics(t *testing.T) {
	r := newRig(t)
	push := func() event.Record {
		return r.append(0, &event.Push{Repository: 7, Ref: "refs/heads/main", Action: event.ActionRefresh, ReceivedAt: start})
	}
	r.apply(push(), push(), push(), r.append(0, &event.PushesHandled{Repository: 7, At: start, Pushes: []event.HandledPush{{Offset: 1, Outcome: event.PushUnchanged}}}))
	r.close()
	reg := prometheus.NewRegistry()
	r.open(reg)
	check := func(waiting int) {
		t.Helper()
		must(t, testutil.GatherAndCompare(reg, strings.NewReader(fmt.Sprintf(`
# HELP quarry_deliveries_waiting Pushes in the log without an outcome; includes those that were given up.
# TYPE quarry_deliveries_waiting gauge
quarry_deliveries_waiting %d
`, waiting)), "quarry_deliveries_waiting"))
	}
	check(2)
	r.apply(push())
	check(3)
}

func TestCursorsOfOthersAreRefused(t *testing.T) {
	r := newRig(t)
	for _, c := range []string{"!", "gA", "AAAA", strings.Repeat("A", 20_000)} {
		_, err := r.ledger.List(ledger.Query{Limit: 1, Cursor: c})
		if !errors.Is(err, deliveries.ErrCursor) {
			t.Errorf("cursor %.20q: %v, want %v", string(c), err, deliveries.ErrCursor)
		}
	}
	if _, err := r.ledger.Get(event.Position{}); !errors.Is(err, code.ErrNotFound) {
		t.Errorf("Get(event.Position{}) = %v, want %v", err, code.ErrNotFound)
	}
}
