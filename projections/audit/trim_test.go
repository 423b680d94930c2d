package audit_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// trimRetention is short, so that a large part of a history is pruned.
const trimRetention = 5 * time.Hour

func (w *world) planTrim() (audit.Trimming, error) {
	w.t.Helper()
	return audit.PlanTrim(w.t.Context(), w.store, w.log, w.options.Retention)
}

// applyTrim carries out the plan, as the log would.
func (w *world) applyTrim() audit.Trimming {
	w.t.Helper()
	plan, err := w.planTrim()
	if err != nil {
		w.t.Fatal(err)
	}
	w.log.records[event.TopicAudit] = slices.DeleteFunc(w.log.records[event.TopicAudit], func(r event.Record) bool {
		return r.Position.Offset < plan.Before
	})
	return plan
}

// TestVerifyTrimmedLog verifies a trimmed log with a store that continues and with one
// rebuilt from the log, over several trims: both must have the same head and no unverified
// record.
func TestVerifyTrimmedLog(t *testing.T) {
	w := newWorld(t, nil, audit.Options{Retention: trimRetention})
	trimmed := 0
	for range 12 {
		older := newWorld(t, w.log.clone(), w.options)
		w.writeHistory(15)
		w.appendReads(1)
		// After a kill during pruning, a restart makes the same plan.
		plan, err := w.planTrim()
		if err != nil {
			t.Fatal(err)
		}
		mustBeProven(t, w)
		mustBeProven(t, w.rebuildStore())
		if again := w.applyTrim(); again != plan {
			t.Fatalf("planned %+v, then %+v", plan, again)
		}
		// An older store, for example from a copy, continues with the rest.
		older.followLog(w)
		mustBeProven(t, older)
		if plan.Before > plan.First {
			trimmed++
		}
		first := w.log.records[event.TopicAudit][0]
		if trimmed > 0 && event.TypeOf(first) != event.TypeAuditSealed {
			t.Fatalf("the log begins with %s at %s", event.TypeOf(first), first.Position)
		}
		if age := w.now.Sub(first.Time); trimmed > 0 && age < trimRetention {
			t.Fatalf("the log begins %s ago", age)
		}
		if again := w.applyTrim(); again.Before > again.First {
			t.Errorf("trimmed again: %+v", again)
		}
		mustBeProven(t, w)
		rebuilt := w.rebuildStore()
		mustBeProven(t, rebuilt)
		if a, b := w.heads()[1], rebuilt.heads()[1]; a.Hash != b.Hash || a.Records != b.Records || a.Entries != b.Entries {
			t.Fatalf("the head is %+v, and %+v in a rebuilt store", a, b)
		}
		// The rebuilt store continues and trims.
		rebuilt.writeHistory(60)
		if plan := rebuilt.applyTrim(); plan.Before <= plan.First {
			t.Errorf("a rebuilt store trims nothing: %+v", plan)
		}
		mustBeProven(t, rebuilt)
	}
	if trimmed < 8 {
		t.Errorf("%d trims", trimmed)
	}
}

// rebuildStore returns a store that is rebuilt from the log as it is.
func (w *world) rebuildStore() *world {
	w.t.Helper()
	out := newWorld(w.t, w.log.clone(), w.options)
	out.now, out.groups = w.now, w.groups
	return out
}

// followLog applies the log of another world, and then uses that log.
func (w *world) followLog(other *world) {
	w.t.Helper()
	for _, topic := range []event.Topic{event.TopicAccounts, event.TopicAudit} {
		next := w.log.next(topic)
		for _, rec := range other.log.records[topic] {
			if rec.Position.Offset >= next {
				w.apply(rec)
			}
		}
	}
	w.log, w.now = other.log.clone(), other.now
}

func mustBeProven(t *testing.T, w *world) {
	t.Helper()
	r := w.verify()
	mustBeSound(t, r)
	if r.Topics[1].Unproven != 0 || r.SealsUnchecked != 0 && r.Topics[1].First == 0 {
		t.Fatalf("%+v", r)
	}
}

// TestTrimKeepsEverything covers the cases in which nothing is trimmed.
func TestTrimKeepsEverything(t *testing.T) {
	for name, test := range map[string]struct {
		retention time.Duration
		change    func(w *world)
		want      string
	}{
		"nothing was pruned": {retention: 1000 * time.Hour},
		"all is kept":        {},
		"a pruned record was altered": {trimRetention, func(w *world) {
			for i := range w.log.records[event.TopicAudit] {
				if rec := &w.log.records[event.TopicAudit][i]; i%6 == 1 {
					rec.Key = append(rec.Key, 'x')
				}
			}
		}, "does not lead to"},
		"seals are gone": {trimRetention, func(w *world) {
			w.log.records[event.TopicAudit] = slices.DeleteFunc(w.log.records[event.TopicAudit], func(r event.Record) bool {
				return event.TypeOf(r) == event.TypeAuditSealed
			})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, audit.Options{Retention: test.retention})
			w.writeHistory(120)
			if test.change != nil {
				test.change(w)
			}
			plan, err := w.planTrim()
			if plan.Before != plan.First || test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%+v, %v; want nothing and an error with %q", plan, err, test.want)
			}
		})
	}
}

// TestTrimIgnoresLateSeals seals a record that is not directly before the seal: a store
// rebuilt from there would contain records that it cannot verify.
func TestTrimIgnoresLateSeals(t *testing.T) {
	w := newWorld(t, nil, audit.Options{Retention: trimRetention})
	w.writeHistory(20)
	want := w.log.next(event.TopicAudit) - 1 // the seal of the last record
	late := w.lateSeal()
	w.now = w.now.Add(time.Minute)
	w.appendReads(1)
	if _, err := w.Append(t.Context(), event.TopicAudit, 0, late); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.now = w.now.Add(2 * trimRetention)
		w.appendReads(1)
	}
	if plan, err := w.planTrim(); err != nil || plan.Before != want {
		t.Errorf("%+v, %v; want to trim below %d", plan, err, want)
	}
	w.applyTrim()
	mustBeProven(t, w)
}

// lateSeal removes a seal that is due from the log again.
func (w *world) lateSeal() event.Record {
	w.t.Helper()
	var seal event.Record
	s, err := audit.NewSealer(audit.SealerOptions{Log: holds{&seal}, Key: w.key, Chains: w.chains, Now: func() time.Time { return w.now.Add(time.Hour) }})
	if err != nil {
		w.t.Fatal(err)
	}
	w.appendReads(1)
	if err := s.Seal(w.t.Context()); err != nil || seal.Value == nil {
		w.t.Fatalf("no seal: %v", err)
	}
	return seal
}

// holds is a log that intercepts appended records.
type holds struct{ rec *event.Record }

// Append implements audit.Appender.
func (h holds) Append(_ context.Context, topic event.Topic, _ int32, records ...event.Record) ([]event.Position, error) {
	*h.rec = records[0]
	return []event.Position{{Topic: topic}}, nil
}
