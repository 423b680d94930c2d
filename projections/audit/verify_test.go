package audit_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

func mustBeSound(t *testing.T, r *auditlog.Report) {
	t.Helper()
	for _, f := range r.Findings {
		t.Errorf("verify() found %s, want nothing", describeFinding(f))
	}
	if t.Failed() {
		t.FailNow()
	}
}

// describeFinding returns the position, the entry and the kind of a finding.
func describeFinding(f auditlog.Finding) string {
	where := ""
	if f.At.Topic != "" {
		where = f.At.String() + ": "
	}
	if f.Entry != "" {
		where += "entry " + f.Entry + ": "
	}
	return where + f.Kind + ": " + f.Message
}

func TestAnUntouchedLogIsSound(t *testing.T) {
	w := newWorld(t, nil, audit.Options{})
	mustBeSound(t, w.verify())
	w.writeHistory(40)
	r := w.verify()
	mustBeSound(t, r)
	heads := w.heads()
	for i, head := range heads {
		if got := r.Topics[i]; got.Hash != head.Hash || head.Hash == "" || got.Last != head.Last || got.Records != head.Records || got.Entries != head.Entries {
			t.Errorf("verified %+v, the head is %+v", got, head)
		}
	}
	if r.Seals < 8 || r.SealsUnchecked != 0 || r.SealedAt.IsZero() {
		t.Errorf("%d seals are good, %d unchecked, the last of %s", r.Seals, r.SealsUnchecked, r.SealedAt)
	}
	if rest := w.verify(auditlog.Pin{Hash: heads[0].Hash}, auditlog.Pin{Hash: heads[1].Hash}); rest.Pins != 2 {
		t.Errorf("%d pins are met", rest.Pins)
	}
}

// TestTampering changes the log, or the store, in every possible way.
func TestTampering(t *testing.T) {
	audits := func(w *world) []event.Record { return w.log.records[event.TopicAudit] }
	rows := func(w *world, change func(b *store.Batch)) {
		b := w.store.NewBatch()
		change(b)
		if err := b.Commit(); err != nil {
			w.t.Fatal(err)
		}
	}
	entries := func(w *world) (keys, values [][]byte) {
		it, err := w.store.Iter([]byte("ur"), []byte("us"))
		if err != nil {
			w.t.Fatal(err)
		}
		for ok := it.First(); ok; ok = it.Next() {
			keys, values = append(keys, bytes.Clone(it.Key())), append(values, bytes.Clone(it.Value()))
		}
		if err := it.Close(); err != nil {
			w.t.Fatal(err)
		}
		return keys, values
	}
	const at = 9 // of the changed record; neither it nor its neighbors are seals
	for name, test := range map[string]struct {
		change func(w *world)
		want   string // prefix of the first finding
	}{
		"one byte of a value": {func(w *world) {
			value := audits(w)[at].Value
			copy(value[bytes.Index(value, []byte("192.0.2.7")):], "192.0.2.8")
		}, "quarry.audit/0/9: altered"},
		"one byte that leaves no event": {func(w *world) { audits(w)[at].Value[0] = '[' }, "quarry.audit/0/9: altered"},
		"a header":                      {func(w *world) { audits(w)[at].Headers[1].Value = []byte("test/999") }, "quarry.audit/0/9: altered"},
		"the time":                      {func(w *world) { audits(w)[at].Time = audits(w)[at].Time.Add(time.Second) }, "quarry.audit/0/9: altered"},
		"an account event": {func(w *world) {
			value := w.log.records[event.TopicAccounts][4].Value
			copy(value[bytes.Index(value, []byte("192.0.2.1")):], "192.0.2.9")
		}, "quarry.accounts/0/4: altered"},
		"one record removed": {func(w *world) {
			w.log.records[event.TopicAudit] = append(audits(w)[:at:at], audits(w)[at+1:]...)
		}, "quarry.audit/0/9: missing"},
		"one record removed, the others moved up": {func(w *world) {
			records := append(audits(w)[:at:at], audits(w)[at+1:]...)
			for i := range records {
				records[i].Position.Offset = event.Offset(i)
			}
			w.log.records[event.TopicAudit] = records
		}, "quarry.audit/0/9: altered"},
		"two records swapped": {func(w *world) {
			r := audits(w)
			r[at], r[at+1] = r[at+1], r[at]
			r[at].Position, r[at+1].Position = r[at+1].Position, r[at].Position
		}, "quarry.audit/0/9: altered"},
		"the tail cut":      {func(w *world) { w.log.records[event.TopicAudit] = audits(w)[:len(audits(w))-3] }, "quarry.audit/0/"},
		"the beginning cut": {func(w *world) { w.log.records[event.TopicAudit] = audits(w)[at:] }, "quarry.audit/0/9: beginning"},
		"the beginning of the accounts cut": {func(w *world) {
			w.log.records[event.TopicAccounts] = w.log.records[event.TopicAccounts][2:]
		}, "quarry.accounts/0/2: beginning"},
		"a row changed": {func(w *world) {
			keys, values := entries(w)
			rows(w, func(b *store.Batch) {
				_ = b.Set(keys[30], bytes.Replace(values[30], []byte("192.0.2"), []byte("192.0.3"), 1))
			})
		}, "quarry.audit/0/"},
		"a row removed": {func(w *world) {
			keys, _ := entries(w)
			rows(w, func(b *store.Batch) { _ = b.Delete(keys[30]) })
		}, "quarry.audit/0/"},
		"a row added": {func(w *world) {
			keys, values := entries(w)
			key := bytes.Clone(keys[30])
			key[len(key)-1] = 200
			rows(w, func(b *store.Batch) { _ = b.Set(key, values[30]) })
		}, "quarry.audit/0/"},
		"a row hidden from a list": {func(w *world) {
			it, err := w.store.Iter([]byte("ux"), []byte("uy"))
			if err != nil {
				t.Fatal(err)
			}
			it.Last()
			key := bytes.Clone(it.Key())
			_ = it.Close()
			rows(w, func(b *store.Batch) { _ = b.Delete(key) })
		}, "quarry.a"},
		"a counter changed": {func(w *world) {
			it, err := w.store.Iter([]byte("ud\x00\x00\x00\x00\x00\x00\x00\x00"), []byte("ue"))
			if err != nil {
				t.Fatal(err)
			}
			it.First()
			key := bytes.Clone(it.Key())
			_ = it.Close()
			rows(w, func(b *store.Batch) { _ = b.Set(key, []byte{0, 0, 0, 0, 0, 0, 0, 99}) })
		}, "entry: the store has"},
		"a link changed": {func(w *world) {
			key := append([]byte("uhr"), 0, 0, 0, 0, 0, 0, 0, at)
			value, _, err := w.store.Read(key)
			if err != nil {
				t.Fatal(err)
			}
			value[5] ^= 1
			rows(w, func(b *store.Batch) { _ = b.Set(key, value) })
		}, "quarry.audit/0/9: altered"},
		"a seal forged without the secret": {func(w *world) {
			w.now = w.now.Add(time.Hour)
			w.appendReads(1)
			if err := w.newSealer(audit.NewKey([]byte("a guess"))).Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
		}, "quarry.audit/0/"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, audit.Options{})
			w.writeHistory(30)
			mustBeSound(t, w.verify())
			test.change(w)
			r := w.verify()
			if len(r.Findings) == 0 {
				t.Fatal("nothing was found")
			}
			if got := describeFinding(r.Findings[0]); !strings.HasPrefix(got, test.want) {
				t.Errorf("the first finding is %q, want %q…", got, test.want)
			}
			for _, f := range r.Findings {
				t.Log(describeFinding(f))
			}
		})
	}
}

// TestRewrittenHistoryIsDetected changes a record and rewrites the log and the store from
// there, including the chain: only the seals, and heads that were recorded elsewhere,
// reveal it.
func TestRewrittenHistoryIsDetected(t *testing.T) {
	w := newWorld(t, nil, audit.Options{})
	w.writeHistory(30)
	heads := w.heads()
	forged := w.log.clone()
	value := forged.records[event.TopicAudit][9].Value
	copy(value[bytes.Index(value, []byte("192.0.2.7")):], "192.0.2.8")
	again := newWorld(t, forged, audit.Options{})
	again.now = w.now
	r := again.verify()
	if len(r.Findings) == 0 || r.Findings[0].Kind != auditlog.FindingSeal || r.Findings[0].At.Offset <= 9 {
		t.Errorf("with the seals that there were: %v", r.Findings)
	}

	// Without seals, a pin reveals it.
	for topic, records := range forged.records {
		var kept []event.Record
		for _, rec := range records {
			if event.TypeOf(rec) != event.TypeAuditSealed {
				rec.Position.Offset = event.Offset(len(kept))
				kept = append(kept, rec)
			}
		}
		forged.records[topic] = kept
	}
	bare := newWorld(t, forged, audit.Options{})
	bare.now = w.now
	mustBeSound(t, bare.verify())
	r = bare.verify(auditlog.Pin{Hash: heads[0].Hash}, auditlog.Pin{Hash: heads[1].Hash, At: event.Position{Topic: event.TopicAudit, Offset: heads[1].Last}})
	if r.Pins != 1 || len(r.Findings) != 1 || r.Findings[0].Kind != auditlog.FindingPin || r.Findings[0].At.Offset != heads[1].Last {
		t.Errorf("%d pins met, found %v", r.Pins, r.Findings)
	}
}

// TestRebuildFromShortenedLog begins at the first seal.
func TestRebuildFromShortenedLog(t *testing.T) {
	w := newWorld(t, nil, audit.Options{})
	w.writeHistory(40)
	w.appendReads(2)
	head := w.heads()[1]
	records := w.log.records[event.TopicAudit]
	for _, cut := range []int{1, 5, 6, 7, 20} {
		log := w.log.clone()
		log.records[event.TopicAudit] = records[cut:]
		again := newWorld(t, log, audit.Options{})
		again.now, again.options.Retention = w.now, time.Hour
		got := again.heads()[1]
		if got.Hash != head.Hash || got.Records != head.Records || got.First != event.Offset(cut) {
			t.Errorf("cut at %d: the head is %+v, want %+v", cut, got, head)
		}
		r := again.verify(auditlog.Pin{Hash: head.Hash})
		mustBeSound(t, r)
		if r.Seals == 0 || r.Pins != 1 || r.Topics[1].Hash != head.Hash {
			t.Errorf("cut at %d: %+v", cut, r)
		}
		// The log may continue.
		again.appendReads(3)
		mustBeSound(t, again.verify())
		again.options.Retention = 0
		if r := again.verify(); len(r.Findings) == 0 || r.Findings[0].Kind != auditlog.FindingBeginning {
			t.Errorf("cut at %d, though all is to be kept: %v", cut, r.Findings)
		}
	}
	// No seal protects the content after the last one.
	log := w.log.clone()
	last := len(records) - 1
	for event.TypeOf(records[last]) != event.TypeAuditSealed {
		last--
	}
	log.records[event.TopicAudit] = records[last+1:]
	again := newWorld(t, log, audit.Options{})
	again.now, again.options.Retention = w.now, time.Hour
	if r := again.verify(); len(r.Findings) == 0 || r.Findings[0].Kind != auditlog.FindingBeginning {
		t.Errorf("no seal is left: %v", r.Findings)
	}
}

// TestForgedBeginningIsDetected trims the log before a seal made by the attacker.
func TestForgedBeginningIsDetected(t *testing.T) {
	w := newWorld(t, nil, audit.Options{})
	w.writeHistory(12)
	forger := newWorld(t, nil, audit.Options{})
	forger.key = audit.NewKey([]byte("a guess"))
	forger.writeHistory(12)
	w.log.records[event.TopicAudit] = forger.log.records[event.TopicAudit][3:]
	again := newWorld(t, w.log, audit.Options{})
	again.now, again.options.Retention = w.now, time.Minute
	r := again.verify()
	if !slices.ContainsFunc(r.Findings, func(f auditlog.Finding) bool { return f.Kind == auditlog.FindingSeal && f.At.Offset == 5 }) {
		t.Errorf("found %v", r.Findings)
	}
}

func TestSealsAreDue(t *testing.T) {
	w := newWorld(t, nil, audit.Options{})
	s := w.newSealer(w.key)
	seal := func(want int) {
		t.Helper()
		before := len(w.log.records[event.TopicAudit])
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(w.log.records[event.TopicAudit]) - before; got != want {
			t.Errorf("%d seals, want %d", got, want)
		}
	}
	seal(0) // nothing to seal
	w.appendReads(2)
	seal(1)
	seal(0) // only the seal is new
	w.now = w.now.Add(audit.DefaultSealEvery)
	seal(0)
	w.signsIn("u1")
	seal(1)
	w.appendReads(1)
	seal(0) // not yet
	w.now = w.now.Add(audit.DefaultSealEvery)
	seal(1)
	head := w.heads()
	if head[0].SealedOffset != 0 || head[1].SealedOffset != head[1].Last-1 || !head[1].SealedAt.Equal(w.now) {
		t.Errorf("heads %+v", head)
	}
	w.now = w.now.Add(-time.Hour) // a clock is corrected
	w.appendReads(1)
	seal(1)
	mustBeSound(t, w.verify())
}

// TestUnreadableRecordIsFound tests a log with an unreadable record in the middle.
func TestUnreadableRecordIsFound(t *testing.T) {
	w := newWorld(t, nil, audit.Options{})
	w.writeHistory(30)
	w.log.damaged = map[event.Offset]bool{9: true}
	r := w.verify()
	if len(r.Findings) == 0 || r.Findings[0].Kind != auditlog.FindingUnread || r.Findings[0].At.Offset != 9 {
		t.Errorf("found %v", r.Findings)
	}
	stop := errors.New("enough")
	_, err := audit.Verify(t.Context(), audit.VerifyOptions{Store: w.store, Log: w.log, Progress: func(auditlog.Report) error { return stop }})
	if err != nil {
		t.Errorf("a log too short for progress: %v", err)
	}
}
