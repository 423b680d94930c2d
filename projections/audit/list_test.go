package audit_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	words "github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// entriesOf returns the entries that the log implies, newest first, up to an age of keep.
func (w *world) entriesOf(keep time.Duration) []auditlog.Entry {
	var out []auditlog.Entry
	for _, topic := range []event.Topic{event.TopicAccounts, event.TopicAudit} {
		records := w.log.records[topic]
		for i := range records {
			if keep > 0 && records[i].Time.Before(records[len(records)-1].Time.Add(-keep)) {
				continue
			}
			_, ev, err := event.Decode(records[i])
			if err != nil {
				w.t.Fatal(err)
			}
			switch ev := ev.(type) {
			case *event.AuditRecorded:
				for n := range ev.Records {
					out = append(out, auditlog.Entry{Record: ev.Records[n], Position: records[i].Position, Index: n})
				}
			case *event.SessionEnded:
				rec := words.Record{At: ev.At, Action: words.SignedOut, Actor: ev.By}
				out = append(out, auditlog.Entry{Record: rec, Position: records[i].Position})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b auditlog.Entry) int {
		return cmp.Or(cmp.Compare(b.At.UnixMilli(), a.At.UnixMilli()), -cmp.Compare(a.Position.Topic, b.Position.Topic),
			cmp.Compare(b.Position.Offset, a.Position.Offset), cmp.Compare(b.Index, a.Index))
	})
	return out
}

func selectEntries(all []auditlog.Entry, q auditlog.Query) []auditlog.Entry {
	return slices.DeleteFunc(slices.Clone(all), func(e auditlog.Entry) bool {
		at := e.At.Truncate(time.Millisecond)
		return !q.Since.IsZero() && at.Before(q.Since) || !q.Until.IsZero() && at.After(q.Until) ||
			q.Action != "" && e.Action != q.Action || q.Actor != "" && audit.ActorID(e.Actor) != q.Actor
	})
}

// TestListIsTheNaiveList compares pages with a list of all entries, for random queries
// over some days.
func TestListIsTheNaiveList(t *testing.T) {
	for _, keep := range []time.Duration{0, 30 * time.Hour} {
		t.Run(keep.String(), func(t *testing.T) {
			w := newWorld(t, nil, audit.Options{Retention: keep})
			w.writeHistory(700) // 81 hours
			all := w.entriesOf(keep)
			log := audit.NewLog(w.store)
			rnd := rand.New(rand.NewPCG(3, 4))
			for range 400 {
				q := randomQuery(rnd, all)
				page, err := log.List(q)
				if err != nil {
					t.Fatal(err)
				}
				want := selectEntries(all, q)
				if page.Total != len(want) {
					t.Fatalf("%+v: total %d, want %d", q, page.Total, len(want))
				}
				want = want[min(q.Offset, len(want)):]
				want = want[:min(q.Limit, len(want))]
				if len(page.Entries) != len(want) {
					t.Fatalf("%+v: %d entries, want %d", q, len(page.Entries), len(want))
				}
				for i, e := range page.Entries {
					if e.Position != want[i].Position || e.Index != want[i].Index || !e.At.Equal(want[i].At) || e.Action != want[i].Action {
						t.Fatalf("%+v: entry %d is %s of %s, want %s of %s", q, i, e.ID, e.At, want[i].Position, want[i].At)
					}
				}
			}
			mustBeSound(t, w.verify())
		})
	}
}

func randomQuery(rnd *rand.Rand, all []auditlog.Entry) auditlog.Query {
	q := auditlog.Query{Limit: rnd.IntN(100), Offset: rnd.IntN(len(all) + 10)}
	if rnd.IntN(2) == 0 {
		q.Offset /= 20
	}
	some := func() auditlog.Entry { return all[rnd.IntN(len(all))] }
	if rnd.IntN(2) == 0 {
		q.Since = some().At.Truncate(time.Millisecond)
	}
	if rnd.IntN(2) == 0 {
		q.Until = some().At.Truncate(time.Millisecond)
	}
	if rnd.IntN(3) == 0 {
		q.Since = q.Since.Truncate(24 * time.Hour)
	}
	if rnd.IntN(2) == 0 {
		q.Action = some().Action
	}
	if rnd.IntN(2) == 0 {
		q.Actor = audit.ActorID(some().Actor)
	}
	return q
}

func TestEntriesHaveTheirIDs(t *testing.T) {
	w := newWorld(t, nil, audit.Options{})
	w.refused[1] = "there is no such session"
	w.signsIn("u1")
	w.signsIn("u2")
	w.appendReads(3)
	page, err := audit.NewLog(w.store).List(auditlog.Query{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*auditlog.Entry{}
	for _, e := range page.Entries {
		byID[e.ID] = e
	}
	for id, refused := range map[string]string{"accounts-0-0": "", "accounts-1-0": "there is no such session", "audit-0-2": ""} {
		if e, ok := byID[id]; !ok || e.Refused != refused || e.At.IsZero() {
			t.Errorf("%s: %+v, %v", id, e, ok)
		}
	}
	if len(byID) != 5 {
		t.Errorf("%d entries are listed, want 5: %v", len(byID), slices.Sorted(maps.Keys(byID)))
	}
}

// TestRepeatedGroupCountsOnce appends a group twice, as after a lost acknowledgment.
func TestRepeatedGroupCountsOnce(t *testing.T) {
	w := newWorld(t, nil, audit.Options{})
	ev := &event.AuditRecorded{Records: []words.Record{w.randomRecord(), w.randomRecord()}}
	w.write("a/1", ev)
	w.write("a/1", ev)
	w.write("b/1", ev)
	w.write("a/2", ev)
	page, err := audit.NewLog(w.store).List(auditlog.Query{Limit: 100})
	if err != nil || page.Total != 6 {
		t.Errorf("%d entries, want 6, %v", page.Total, err)
	}
	mustBeSound(t, w.verify())
}

// TestProjectionConforms runs the conformance suite over each topic.
func TestProjectionConforms(t *testing.T) {
	w := newWorld(t, nil, audit.Options{})
	w.writeHistory(40)
	for _, topic := range []event.Topic{event.TopicAccounts, event.TopicAudit} {
		for _, keep := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(topic, keep), func(t *testing.T) {
				projectiontest.Conform(t, w.log.records[topic], nil, func(t *testing.T, s *store.Store, _ segmentstore.Store, d *projections.Decoder) ([]projections.Projection, func()) {
					p, err := audit.New(audit.Options{Topic: topic, Store: s, Decoder: d, Retention: keep, Refused: func(event.Position) string { return "" }})
					if err != nil {
						t.Fatal(err)
					}
					return []projections.Projection{p}, p.Close
				})
			})
		}
	}
}

// TestPruningKeepsTheChain trims the log as far as the store has pruned.
func TestPruningKeepsTheChain(t *testing.T) {
	w := newWorld(t, nil, audit.Options{Retention: 2 * time.Hour})
	w.writeHistory(60)
	mustBeSound(t, w.verify())
	kept := w.entriesOf(w.options.Retention)
	heads := w.heads()
	if n := heads[0].Entries + heads[1].Entries; n != int64(len(kept)) || n == int64(len(w.entriesOf(0))) {
		t.Errorf("%d entries are kept, want %d", n, len(kept))
	}
	if r := w.verify(auditlog.Pin{Hash: heads[1].Hash}); r.Pins != 1 {
		t.Errorf("the pin is not met: %+v", r)
	}
	for _, cut := range []int{3, 20, 50} {
		records := w.log.records[event.TopicAudit]
		w.log.records[event.TopicAudit] = records[slices.IndexFunc(records, func(r event.Record) bool { return r.Position.Offset >= event.Offset(cut) }):]
		mustBeSound(t, w.verify(auditlog.Pin{Hash: heads[1].Hash}))
	}
}

// BenchmarkApply applies groups of 16 records.
func BenchmarkApply(b *testing.B) {
	w := newWorld(b, nil, audit.Options{})
	b.ReportAllocs()
	for b.Loop() {
		w.now = w.now.Add(time.Second)
		w.appendReads(16)
	}
}

// BenchmarkLastPage lists the last page of a week.
func BenchmarkLastPage(b *testing.B) {
	w := newWorld(b, nil, audit.Options{})
	for range 2000 {
		w.now = w.now.Add(5 * time.Minute)
		w.appendReads(50)
	}
	log := audit.NewLog(w.store)
	for _, offset := range []int{0, 50_000, 99_950} {
		b.Run(fmt.Sprint(offset), func(b *testing.B) {
			for b.Loop() {
				if page, err := log.List(auditlog.Query{Offset: offset, Limit: 50}); err != nil || len(page.Entries) != 50 || page.Total != 100_000 {
					b.Fatal(len(page.Entries), page.Total, err)
				}
			}
		})
	}
}

// TestExportGoesOn exports in parts and compares them with the list of all entries.
func TestExportGoesOn(t *testing.T) {
	w := newWorld(t, nil, audit.Options{})
	w.writeHistory(60)
	log := audit.NewLog(w.store)
	stop := errors.New("enough")
	for _, part := range []int{1, 7, 1000} {
		var ids []string
		after := audit.Cursor{}
		for {
			n := 0
			next, err := log.Export(t.Context(), auditlog.Query{}, after, func(e *auditlog.Entry) error {
				if n == part {
					return stop
				}
				n++
				ids = append(ids, e.ID)
				return nil
			})
			if err == nil {
				break
			}
			if !errors.Is(err, stop) {
				t.Fatal(err)
			}
			if after, err = audit.ParseCursor(next.String()); err != nil {
				t.Fatal(err)
			}
		}
		all := w.entriesOf(0)
		if len(ids) != len(all) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(all) {
			t.Errorf("in parts of %d: %d entries, want %d", part, len(ids), len(all))
		}
	}
	q := auditlog.Query{Action: words.Searched, Since: start.Add(time.Hour), Until: start.Add(3 * time.Hour)}
	n := 0
	if _, err := log.Export(t.Context(), q, audit.Cursor{}, func(*auditlog.Entry) error { n++; return nil }); err != nil || n != len(selectEntries(w.entriesOf(0), q)) {
		t.Errorf("%d entries are selected, %v", n, err)
	}
	for _, text := range []string{"x", "audit-1", "audit-1-0,audit-2-0", "audit-1-0,", "events-1-0", "audit", "audit-x-1"} {
		if c, err := audit.ParseCursor(text); !errors.Is(err, audit.ErrCursor) {
			t.Errorf("%q is taken for %v", text, c)
		}
	}
}
