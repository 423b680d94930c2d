package audit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/account"
	words "github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// world is a log of both topics, and a store that follows it.
type world struct {
	t       testing.TB
	log     *tamperable
	store   *store.Store
	applier map[event.Topic]*projectiontest.Applier
	chains  []*audit.Projection
	key     *audit.Key
	now     time.Time
	options audit.Options
	rnd     *rand.Rand
	groups  int
	refused map[event.Offset]string
}

var start = time.Date(2026, 11, 20, 23, 50, 0, 0, time.UTC)

// newWorld opens an empty store over a log; nil means an empty log.
func newWorld(t testing.TB, log *tamperable, o audit.Options) *world {
	t.Helper()
	s, err := store.Open("store", store.Options{FileSystem: storetest.NewMemory().FileSystem(), CacheBytes: store.MinCacheBytes})
	if err != nil {
		t.Fatal(err)
	}
	if log == nil {
		log = &tamperable{records: map[event.Topic][]event.Record{}}
	}
	w := &world{
		t: t, log: log, store: s, applier: map[event.Topic]*projectiontest.Applier{}, key: audit.NewKey([]byte("secret")), now: start,
		options: o, rnd: rand.New(rand.NewPCG(1, 2)), refused: map[event.Offset]string{},
	}
	for _, topic := range []event.Topic{event.TopicAccounts, event.TopicAudit} {
		o.Topic, o.Store, o.Decoder = topic, s, projections.NewDecoder(nil)
		o.Refused = func(at event.Position) string { return w.refused[at.Offset] }
		p, err := audit.New(o)
		if err != nil {
			t.Fatal(err)
		}
		w.chains = append(w.chains, p)
		w.applier[topic] = &projectiontest.Applier{Store: s, Decoder: o.Decoder, Projections: []projections.Projection{p}}
		for _, rec := range log.records[topic] {
			w.apply(rec)
		}
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) apply(rec event.Record) {
	w.t.Helper()
	if err := w.applier[rec.Position.Topic].Apply(context.Background(), rec); err != nil {
		w.t.Fatal(err)
	}
}

// Append implements audit.Appender.
func (w *world) Append(_ context.Context, topic event.Topic, _ int32, records ...event.Record) ([]event.Position, error) {
	var at []event.Position
	for _, rec := range records {
		rec.Position = event.Position{Topic: topic, Offset: w.log.next(topic)}
		rec.Time = w.now
		w.log.records[topic] = append(w.log.records[topic], rec)
		w.apply(rec)
		at = append(at, rec.Position)
	}
	return at, nil
}

// write appends an event at the current time of the world.
func (w *world) write(id string, ev event.Event) {
	w.t.Helper()
	topic := event.TopicAccounts
	switch ev.(type) {
	case *event.AuditRecorded, *event.AuditSealed:
		topic = event.TopicAudit
	}
	rec, err := event.Encode(event.Envelope{ID: id, Source: "/test", Time: w.now}, ev)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.Append(context.Background(), topic, 0, rec); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) randomRecord() words.Record {
	actions := []words.Action{words.Searched, words.FetchedSource, words.FetchedDiff, words.ListedUsers}
	users := []account.UserID{"u1", "u2", "u3"}
	// Clocks of servers differ, and a group is appended after a short delay.
	at := w.now.Add(-time.Duration(w.rnd.IntN(90_000_000)) * time.Microsecond)
	return words.Record{
		At: at, Action: actions[w.rnd.IntN(len(actions))], Actor: account.Actor{Kind: account.ActorUser, User: users[w.rnd.IntN(len(users))], Address: "192.0.2.7"},
		TargetType: words.TargetInstance, RequestID: fmt.Sprint(w.rnd.Uint32()), Status: 200, Metadata: map[string]string{"query": fmt.Sprint(w.rnd.Uint32())},
	}
}

// appendReads appends a group of n records.
func (w *world) appendReads(n int) {
	w.t.Helper()
	ev := &event.AuditRecorded{}
	for range n {
		ev.Records = append(ev.Records, w.randomRecord())
	}
	w.groups++
	w.write(fmt.Sprintf("test/%d", w.groups), ev)
}

// signsIn appends an account event.
func (w *world) signsIn(user string) {
	w.t.Helper()
	w.write(fmt.Sprintf("session-%d", w.log.next(event.TopicAccounts)), &event.SessionEnded{
		User: account.UserID(user), Session: "s", By: account.Actor{Kind: account.ActorUser, User: account.UserID(user), Address: "192.0.2.1"}, At: w.now,
	})
}

// writeHistory writes a history with seals.
func (w *world) writeHistory(records int) {
	w.t.Helper()
	sealer := w.newSealer(w.key)
	for i := range records {
		w.appendReads(1 + w.rnd.IntN(4))
		if i%3 == 0 {
			w.signsIn(fmt.Sprintf("u%d", 1+w.rnd.IntN(3)))
		}
		w.now = w.now.Add(7 * time.Minute)
		if i%5 == 4 {
			if err := sealer.Seal(context.Background()); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func (w *world) newSealer(key *audit.Key) *audit.Sealer {
	w.t.Helper()
	s, err := audit.NewSealer(audit.SealerOptions{Log: w, Key: key, Chains: w.chains, Now: func() time.Time { return w.now }})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) verify(pins ...auditlog.Pin) *auditlog.Report {
	w.t.Helper()
	report, err := audit.Verify(context.Background(), audit.VerifyOptions{
		Store: w.store, Log: w.log, Key: w.key, Pins: pins, Retention: w.options.Retention, Now: func() time.Time { return w.now },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

func (w *world) heads() []auditlog.Head {
	w.t.Helper()
	heads, err := audit.NewLog(w.store).Heads()
	if err != nil {
		w.t.Fatal(err)
	}
	return heads
}

// tamperable is a log whose records tests change.
type tamperable struct {
	records map[event.Topic][]event.Record
	// damaged holds the offsets of event.TopicAudit that cannot be read.
	damaged map[event.Offset]bool
}

func (l *tamperable) next(topic event.Topic) event.Offset {
	records := l.records[topic]
	if len(records) == 0 {
		return 0
	}
	return records[len(records)-1].Position.Offset + 1
}

func (l *tamperable) clone() *tamperable {
	out := &tamperable{records: map[event.Topic][]event.Record{}}
	for topic, records := range l.records {
		for _, rec := range records {
			rec.Value = slices.Clone(rec.Value)
			out.records[topic] = append(out.records[topic], rec)
		}
	}
	return out
}

// Partitions implements projections.Tailer.
func (l *tamperable) Partitions(context.Context, event.Topic) (int32, error) { return 1, nil }

// HighWater implements projections.Tailer.
func (l *tamperable) HighWater(_ context.Context, topic event.Topic) ([]event.Offset, error) {
	return []event.Offset{l.next(topic)}, nil
}

// Tail implements projections.Tailer.
func (l *tamperable) Tail(_ context.Context, topic event.Topic, _ int32, from event.Offset) (event.Reader, error) {
	records := l.records[topic]
	i := slices.IndexFunc(records, func(r event.Record) bool { return r.Position.Offset >= from })
	if i < 0 {
		i = len(records)
	}
	if topic != event.TopicAudit {
		return &tail{records[i:], nil}, nil
	}
	return &tail{records[i:], l.damaged}, nil
}

type tail struct {
	records []event.Record
	damaged map[event.Offset]bool
}

// Next implements event.Reader.
func (t *tail) Next(ctx context.Context) (event.Record, error) {
	if len(t.records) == 0 {
		<-ctx.Done()
		return event.Record{}, ctx.Err()
	}
	rec := t.records[0]
	if t.damaged[rec.Position.Offset] {
		return event.Record{}, errors.New("record is corrupt")
	}
	t.records = t.records[1:]
	return rec, nil
}

// Close implements event.Reader.
func (t *tail) Close() error { return nil }
