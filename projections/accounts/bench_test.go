package accounts_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accounts"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// benchUsers is the number of users of a large company; each has a session and two keys.
const benchUsers = 10_000

// benchEvents returns the events that create them.
func benchEvents(b *testing.B) []event.Record {
	r := &rig{t: b, now: start}
	var records []event.Record
	add := func(ev event.Event) { records = append(records, record(b, event.Offset(len(records)), ev)) }
	for i := range benchUsers {
		id := account.UserID(fmt.Sprintf("user%020d", i))
		u := r.user(id, account.RoleMember)
		u.PasswordHash = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g"
		add(u)
		add(r.session(account.SessionID(fmt.Sprintf("session%d", i)), id))
		for k := range 2 {
			add(r.key(account.KeyID(fmt.Sprintf("key%d-%d", i, k)), id, fmt.Sprint("name", k)))
		}
	}
	return records
}

// BenchmarkRead reads the accounts of a large company from the log, and reports their
// memory use.
func BenchmarkRead(b *testing.B) {
	records := benchEvents(b)
	for b.Loop() {
		before := heap()
		s, err := store.Open(b.TempDir(), store.Options{CacheBytes: store.MinCacheBytes})
		must(b, err)
		decoder := projections.NewDecoder(nil)
		d, err := accounts.Open(accounts.Options{Store: s, Decoder: decoder})
		must(b, err)
		applier := &projectiontest.Applier{Store: s, Decoder: decoder, Projections: []projections.Projection{d}}
		for _, rec := range records {
			must(b, applier.Apply(b.Context(), rec))
		}
		b.ReportMetric(float64(heap()-before)/benchUsers, "heap-B/user")
		d.Close()
		must(b, s.Close())
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(records)), "µs/event")
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkKeyByHash measures concurrent lookups of a key, as every request needs one.
func BenchmarkKeyByHash(b *testing.B) {
	r := newRig(b)
	for _, rec := range benchEvents(b)[:4000] {
		must(b, r.applier.Apply(b.Context(), rec))
	}
	hash := hex64("key7-1")
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, found := r.dir.KeyByHash(hash); !found {
				b.Fatal("there is no such key")
			}
			_ = r.dir.Access()
		}
	})
}
