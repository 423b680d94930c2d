package kafkalog_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/eventlogtest"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/event"
	"go.uber.org/goleak"
)

func mustOpen(t *testing.T, opts kafkalog.Options) *kafkalog.Log {
	t.Helper()
	l, err := kafkalog.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func textRecord(text string) event.Record {
	return event.Record{Key: []byte("k"), Value: []byte(text)}
}

// TestBroker runs the tests that need only one broker, which takes seconds to start. The
// conformance suite runs on three (TestThreeBrokers), which includes what one can do.
func TestBroker(t *testing.T) {
	broker := kafkatest.Start(t)
	t.Run("Topics", func(t *testing.T) { ensureTopics(t, broker) })
	t.Run("CopyTarget", func(t *testing.T) { copyTarget(t, broker) })
	t.Run("DeletedBeginning", func(t *testing.T) { deletedBeginning(t, broker) })
	t.Run("LostBeginning", func(t *testing.T) { lostBeginning(t, broker) })
	t.Run("LostAcknowledgements", func(t *testing.T) { lostAcknowledgements(t, broker) })
	t.Run("GivenUp", func(t *testing.T) { givenUp(t, broker) })
	t.Run("RestartedMember", func(t *testing.T) { restartedMember(t, broker.Cluster) })
	t.Run("RefusedSession", func(t *testing.T) { refusedSession(t, broker.Cluster) })
	t.Run("TwoOfOneName", func(t *testing.T) { twoOfOneName(t, broker.Cluster) })
	t.Run("KilledCoordinator", func(t *testing.T) { killedCoordinator(t, broker) })
	t.Run("KilledBroker", func(t *testing.T) { killedBroker(t, broker) })
}

func conformance(t *testing.T, cluster *kafkatest.Cluster) {
	eventlogtest.Run(t, eventlogtest.Driver{
		New: func(t *testing.T, partitions int32, topics ...event.Topic) func() (eventlog.Log, error) {
			l := mustOpen(t, kafkalog.Options{Brokers: cluster.Addresses})
			for _, topic := range topics {
				if err := l.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: topic, Partitions: partitions}); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return func() (eventlog.Log, error) {
				return kafkalog.Open(t.Context(), kafkalog.Options{Brokers: cluster.Addresses})
			}
		},
	})
}

func ensureTopics(t *testing.T, broker *kafkatest.Broker) {
	l := mustOpen(t, kafkalog.Options{Brokers: broker.Addresses})
	spec := kafkalog.TopicSpec{Topic: "topics-3", Partitions: 3, Retention: time.Hour}
	for range 2 {
		if err := l.EnsureTopics(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	wantDeviations(t, l, spec)
	forever := spec
	forever.Retention = 0
	wantDeviations(t, l, forever, "retention.ms of topics-3 is 3600000, wanted is -1")
	spec.Partitions = 5
	wantDeviations(t, l, spec, "topics-3 has 3 partitions, configured are 5")
	if err := l.EnsureTopics(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "3 partitions") {
		t.Errorf("EnsureTopics with another number: %v", err)
	}
	if _, err := l.Append(t.Context(), "not-there", 0, textRecord("x")); !errors.Is(err, kafkalog.ErrNoTopic) {
		t.Errorf("Append to a topic that does not exist: %v, want ErrNoTopic", err)
	}
	if _, err := l.Describe(t.Context(), "not-there"); !errors.Is(err, kafkalog.ErrNoTopic) {
		t.Errorf("Describe of a topic that does not exist: %v, want ErrNoTopic", err)
	}
}

// lostBeginning deletes the beginning of a topic that is kept whole, as the retention of brokers
// does: no reader continues with the rest as if nothing were missing. A group without an offset
// does, because leaders of groups read no record.
func lostBeginning(t *testing.T, broker *kafkatest.Broker) {
	l := mustOpen(t, kafkalog.Options{Brokers: broker.Addresses})
	if err := l.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: event.TopicEvents, Partitions: 3}); err != nil {
		t.Fatal(err)
	}
	before, err := l.HighWater(t.Context(), event.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := l.Append(t.Context(), event.TopicEvents, 2, textRecord(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	first := before[2] + 3
	if err := l.DeleteAnyway(t.Context(), event.TopicEvents, 2, first); err != nil {
		t.Fatal(err)
	}
	var out *event.RangeError
	if r, err := l.Tail(t.Context(), event.TopicEvents, 2, 0); !errors.As(err, &out) || out.First != first {
		t.Errorf("read from the beginning: %v, %v; want a RangeError that begins at %d", r, err, first)
	}
	for rec, err := range event.ReadRange(t.Context(), l, event.TopicEvents, 2, first, first+1) {
		if err != nil || rec.Position.Offset != first {
			t.Errorf("read of what is kept: %s, %v", rec.Position, err)
		}
	}
	got := make(chan event.Offset, 1)
	err = l.Join(t.Context(), "lost-beginning", event.TopicEvents, func(ctx context.Context, a eventlog.Assignment) error {
		if a.Partition() != 2 {
			<-ctx.Done()
			return nil
		}
		rec, err := a.Next(ctx)
		got <- rec.Position.Offset
		return err
	})
	if at := <-got; err != nil || at != first {
		t.Errorf("the group begins at %d, %v; want %d", at, err, first)
	}
}

// deletedBeginning deletes the beginning of the only topic of which that is allowed.
func deletedBeginning(t *testing.T, broker *kafkatest.Broker) {
	l := mustOpen(t, kafkalog.Options{Brokers: broker.Addresses})
	if err := l.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: event.TopicAudit, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := l.Append(t.Context(), event.TopicAudit, 0, textRecord(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, before := range []event.Offset{3, 3, 1} {
		if err := l.DeleteBefore(t.Context(), event.TopicAudit, 0, before); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.DeleteBefore(t.Context(), event.TopicAudit, 0, 6); !errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		t.Errorf("delete what is to come: %v, want ErrOffsetOutOfRange", err)
	}
	if _, err := l.Tail(t.Context(), event.TopicAudit, 0, 2); !errors.Is(err, eventlog.ErrOffsetOutOfRange) {
		t.Errorf("tail from a deleted record: %v, want ErrOffsetOutOfRange", err)
	}
	r, err := l.Tail(t.Context(), event.TopicAudit, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next(clocktest.NewContext(t))
	if err := errors.Join(err, r.Close()); err != nil || rec.Position.Offset != 3 || string(rec.Value) != "3" {
		t.Errorf("the first record is %s %q, %v; want 3", rec.Position, rec.Value, err)
	}
}

// wantDeviations expects a topic to have exactly these deviations from spec.
func wantDeviations(t *testing.T, l *kafkalog.Log, spec kafkalog.TopicSpec, want ...string) {
	t.Helper()
	state, err := l.Describe(t.Context(), spec.Topic)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range l.Deviations(spec, state) {
		got = append(got, d.What)
	}
	if !slices.Equal(got, want) {
		t.Errorf("deviations %q, want %q", got, want)
	}
	for _, s := range spec.Settings(state) {
		if s.Value == "" {
			t.Errorf("the brokers do not tell %s", s.Name)
		}
	}
}

// killedBroker kills the broker while one goroutine appends, one tails and a group
// consumes, and expects both readers to get every acknowledged record.
func killedBroker(t *testing.T, broker *kafkatest.Broker) {
	if testing.Short() {
		t.Skip("killed broker: takes 20 s, not with -short")
	}
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const topic, before, after = event.Topic("killed"), 50, 50
	l, err := kafkalog.Open(t.Context(), kafkalog.Options{Brokers: broker.Addresses, AppendTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: topic, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(clocktest.NewContext(t))
	defer cancel()
	tailed, consumed := newSeen(), newSeen()
	r, err := l.Tail(ctx, topic, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	go func() { done <- tailed.readAll(ctx, r) }()
	go func() {
		done <- l.Join(ctx, "killed", topic, func(ctx context.Context, a eventlog.Assignment) error {
			return consumed.consume(ctx, a)
		})
	}()
	refused := 0
	for i := range before + after {
		if i == before {
			// Wait until both are running.
			tailed.await(ctx, t, before)
			consumed.await(ctx, t, before)
			broker.Kill()
			if _, err := l.Append(ctx, topic, 0, textRecord("while away")); !errors.Is(err, eventlog.ErrFull) {
				t.Errorf("Append while the broker is away: %v, want ErrFull", err)
			}
			began := time.Now()
			broker.Restart()
			t.Logf("broker ready %v after the restart began", time.Since(began).Round(time.Millisecond))
		}
		refused += mustAppend(ctx, t, l, topic, fmt.Sprint(i))
	}
	began := time.Now()
	tailed.await(ctx, t, before+after)
	consumed.await(ctx, t, before+after)
	t.Logf("readers caught up %v after the last append; %d appends were refused and repeated", time.Since(began).Round(time.Millisecond), refused)
	cancel()
	for range 2 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("reader: %v, want context.Canceled", err)
		}
	}
}

// mustAppend appends with retries until the record is acknowledged, as a webhook's sender
// does.
func mustAppend(ctx context.Context, t *testing.T, l *kafkalog.Log, topic event.Topic, text string) (refused int) {
	t.Helper()
	for {
		_, err := l.Append(ctx, topic, 0, textRecord(text))
		if err == nil {
			return refused
		}
		if !errors.Is(err, eventlog.ErrFull) {
			t.Fatal(err)
		}
		refused++
	}
}

// seen records the distinct numbered records that were read.
type seen struct {
	texts chan string
	have  map[string]bool
	next  atomic.Int64
}

func newSeen() *seen {
	return &seen{texts: make(chan string, 1000), have: map[string]bool{}}
}

func (s *seen) readAll(ctx context.Context, r eventlog.Reader) error {
	defer r.Close()
	for {
		rec, err := r.Next(ctx)
		if err != nil {
			return err
		}
		s.texts <- string(rec.Value)
	}
}

func (s *seen) consume(ctx context.Context, a eventlog.Assignment) error {
	for {
		rec, err := a.Next(ctx)
		if err != nil {
			return err
		}
		s.texts <- string(rec.Value)
		// The commit may fail while the broker is down; the record is then delivered
		// again.
		if a.Commit(ctx, rec.Position.Offset+1) == nil {
			s.next.Store(int64(rec.Position.Offset + 1))
		}
	}
}

// await returns when the records 0 to n-1 were read.
func (s *seen) await(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	for {
		missing := 0
		for i := range n {
			if !s.have[fmt.Sprint(i)] {
				missing++
			}
		}
		if missing == 0 {
			return
		}
		select {
		case text := <-s.texts:
			s.have[text] = true
		case <-ctx.Done():
			t.Fatalf("%d of %d records were not read", missing, n)
		}
	}
}

func TestCredentials(t *testing.T) {
	broker := kafkatest.StartSecure(t, "quarry", "right-horse")
	l := mustOpen(t, kafkalog.Options{Brokers: broker.Addresses, SASL: broker.SASL, TLS: broker.TLS})
	if err := l.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: "secret", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), "secret", 0, textRecord("x")); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	ctx := clocktest.NewContext(t)
	err := l.Join(ctx, "secret", "secret", func(ctx context.Context, a eventlog.Assignment) error {
		rec, err := a.Next(ctx)
		read <- string(rec.Value)
		return err
	})
	if err != nil || <-read != "x" {
		t.Errorf("group with credentials: %v", err)
	}
	wrong := *broker.SASL
	wrong.Password = "wrong-horse"
	began := time.Now()
	_, err = kafkalog.Open(t.Context(), kafkalog.Options{Brokers: broker.Addresses, SASL: &wrong, TLS: broker.TLS})
	if !errors.Is(err, kafkalog.ErrRefused) || !strings.Contains(err.Error(), `user "quarry"`) {
		t.Errorf("Open with a wrong password: %v, want ErrRefused that names the user", err)
	}
	if err != nil && (strings.Contains(err.Error(), "horse") || strings.Contains(err.Error(), "\n")) {
		t.Errorf("the error is not one line without the password: %v", err)
	}
	t.Logf("after %v: %v", time.Since(began).Round(time.Millisecond), err)
	err = openInVain(t, kafkalog.Options{Brokers: broker.Addresses, SASL: broker.SASL, TLS: &tls.Config{}, ConnectTimeout: time.Second}, "certificate")
	if !strings.Contains(err.Error(), "certificate") {
		t.Errorf("Open that does not trust the broker: %v, want an error that says so", err)
	}
}

func TestOpenWithoutBroker(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	// Nothing listens on port 1 of loopback.
	err := openInVain(t, kafkalog.Options{Brokers: []string{"127.0.0.1:1"}, ConnectTimeout: 200 * time.Millisecond}, "refused")
	if !strings.Contains(err.Error(), "127.0.0.1:1") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Open: %v, want an error with the address and the reason", err)
	}
}

// openInVain opens a log that cannot be opened, and returns the error. While the error
// does not name the reason, it tries with longer timeouts, up to a minute: on a busy
// machine, the first attempt may take longer than the first timeout.
func openInVain(t *testing.T, o kafkalog.Options, reason string) error {
	t.Helper()
	for ; ; o.ConnectTimeout *= 2 {
		l, err := kafkalog.Open(t.Context(), o)
		if err == nil {
			_ = l.Close()
			t.Fatalf("Open succeeded, want an error with %q", reason)
		}
		if strings.Contains(err.Error(), reason) || o.ConnectTimeout > time.Minute {
			return err
		}
	}
}

func TestOptions(t *testing.T) {
	for name, opts := range map[string]kafkalog.Options{
		"brokers: 0":    {},
		"host:port":     {Brokers: []string{"localhost"}},
		"user name":     {Brokers: []string{"h:1"}, SASL: &kafkalog.SASL{Mechanism: "plain"}},
		"scram-sha-256": {Brokers: []string{"h:1"}, SASL: &kafkalog.SASL{Mechanism: "gssapi", Username: "u", Password: "p"}},
	} {
		if _, err := kafkalog.Open(t.Context(), opts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Open(%+v): %v, want an error with %q", opts, err, name)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	broker := kafkatest.Start(b)
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			l, err := kafkalog.Open(b.Context(), kafkalog.Options{Brokers: broker.Addresses})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			if err := l.EnsureTopics(b.Context(), kafkalog.TopicSpec{Topic: "bench", Partitions: 1}); err != nil {
				b.Fatal(err)
			}
			rec := event.Record{Key: []byte("k"), Value: make([]byte, 500)}
			b.SetParallelism((callers + 1) / 2)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := l.Append(context.Background(), "bench", 0, rec); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
