package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/schemas/event"
)

// partitionedLog is a memoryLog of several partitions. It keeps the events of partition
// 3, where deliveries go.
type partitionedLog struct {
	memoryLog
	told []event.Record
	fail error
}

func (l *partitionedLog) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	if partition < 0 {
		positions, err := l.memoryLog.Append(ctx, topic, partition, records...)
		for i := range positions {
			positions[i].Partition = 3
		}
		return positions, err
	}
	if l.fail != nil {
		return nil, l.fail
	}
	for _, rec := range records {
		rec.Position = event.Position{Topic: topic, Partition: partition, Offset: event.Offset(len(l.told))}
		l.told = append(l.told, rec)
	}
	return make([]event.Position, len(records)), nil
}

// teller is a receiver whose events are appended when flushDeliveries is called.
type teller struct {
	*webhook.Receiver
	t   *testing.T
	log *partitionedLog
	reg *prometheus.Registry
	now time.Time
}

func newTeller(t *testing.T) *teller {
	x := &teller{t: t, log: new(partitionedLog), reg: prometheus.NewRegistry(), now: now}
	o := newOptions(nil)
	o.Appender, o.Registerer = x.log, x.reg
	o.Now = func() time.Time { return x.now }
	o.PartitionOf = func(_ context.Context, key []byte) (int32, error) {
		if strings.HasSuffix(string(key), "\x00lost") {
			return 0, errors.New("the broker does not answer")
		}
		return int32(len(key)), nil
	}
	x.Receiver = newReceiver(t, o)
	return x
}

// flushDeliveries stops the receiver and returns the events that it appended.
func (x *teller) flushDeliveries() []*event.Delivery {
	x.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := x.Run(ctx); err != nil {
		x.t.Fatal(err)
	}
	var out []*event.Delivery
	for _, rec := range x.log.told {
		_, ev, err := event.Decode(rec)
		if err != nil {
			x.t.Fatal(err)
		}
		out = append(out, ev.(*event.Delivery))
	}
	return out
}

func (x *teller) checkDropped(rate, queue, appending int) {
	x.t.Helper()
	want := fmt.Sprintf(`
# HELP quarry_webhook_dropped_events_total Deliveries without a push whose event was not appended to the log, by reason: too many refusals (rate), a full queue (queue), or a failed append (append).
# TYPE quarry_webhook_dropped_events_total counter
quarry_webhook_dropped_events_total{reason="append"} %d
quarry_webhook_dropped_events_total{reason="queue"} %d
quarry_webhook_dropped_events_total{reason="rate"} %d
`, appending, queue, rate)
	if err := testutil.GatherAndCompare(x.reg, strings.NewReader(want), "quarry_webhook_dropped_events_total"); err != nil {
		x.t.Error(err)
	}
}

// sendRefused sends an unsigned delivery.
func (x *teller) sendRefused(id string) {
	x.t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/webhooks/github/hub", strings.NewReader(push))
	req.Header.Set("X-GitHub-Delivery", id)
	w := httptest.NewRecorder()
	x.ServeHTTP(w, req)
	if w.Code != http.StatusUnauthorized {
		x.t.Fatalf("status %d, want 401", w.Code)
	}
}

func TestDeliveryEventsAreAppended(t *testing.T) {
	x := newTeller(t)
	postDelivery(x, "d-1", push)
	postDelivery(x, "d-1", push)
	postDelivery(x, "d-22", "{}") // valid JSON without a repository
	req := httptest.NewRequest(http.MethodPost, "/webhooks/github/closed", strings.NewReader(push))
	req.Header.Set("X-Hub-Signature-256", ingesttest.SignHMAC("sha256=", []byte(push), []byte("s3cret")))
	req.Header.Set("X-GitHub-Event", "push")
	req.Header.Set("X-GitHub-Delivery", "d-4")
	x.ServeHTTP(httptest.NewRecorder(), req)
	archived := `{"action":"archived","repository":{"id":9,"full_name":"meadow/teapot","clone_url":"https://github.com/meadow/teapot.git"}}`
	req = httptest.NewRequest(http.MethodPost, "/webhooks/github/hub", strings.NewReader(archived))
	req.Header.Set("X-Hub-Signature-256", ingesttest.SignHMAC("sha256=", []byte(archived), []byte("s3cret")))
	req.Header.Set("X-GitHub-Event", "repository")
	req.Header.Set("X-GitHub-Delivery", "d-5")
	x.ServeHTTP(httptest.NewRecorder(), req)
	x.sendRefused("d-333")
	x.sendRefused(strings.Repeat("x", 400) + "\x01")
	x.sendRefused("")
	x.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/webhooks/github/guess", strings.NewReader(push)))
	told := x.flushDeliveries()
	var got strings.Builder
	for i, d := range told {
		fmt.Fprintf(&got, "%d %s %.8s %s %d", x.log.told[i].Position.Partition, d.Outcome, d.DeliveryID, d.Connection, len(d.DeliveryID))
		if d.Of != nil {
			fmt.Fprintf(&got, " of %d/%d", d.Of.Partition, d.Of.Offset)
		}
		if d.BodySHA256 == "" || (d.Reason == "") != (d.Outcome == event.DeliveryDuplicate) || !d.ReceivedAt.Equal(now) {
			t.Errorf("%+v", d)
		}
		got.WriteByte('\n')
	}
	for _, line := range []string{"3 duplicate d-1 hub 3 of 3/0\n", "7 taken d-5 hub 3\n", "10 ignored d-4 closed 3\n", "8 refused d-22 hub 4\n", "9 refused d-333 hub 5\n", "260 refused xxxxxxxx hub 256\n", "37 refused quarry-"} {
		if !strings.Contains(got.String(), line) {
			t.Errorf("no line %q in\n%s", line, got.String())
		}
	}
	if len(told) != 7 {
		t.Errorf("recorded %d\n%s", len(told), got.String())
	}
	x.checkDropped(0, 0, 0)
}

// TestRefusalsAreBounded checks that unauthenticated senders cannot fill the log: a
// connection records a burst of ten refusals, then one per second with the number
// suppressed in between.
func TestRefusalsAreBounded(t *testing.T) {
	x := newTeller(t)
	for range 25 {
		x.sendRefused("d")
	}
	if n := len(x.flushDeliveries()); n != 10 {
		t.Errorf("recorded %d at once, want 10", n)
	}
	x.checkDropped(15, 0, 0)
	x.now = now.Add(time.Second)
	x.sendRefused("e")
	x.sendRefused("f")
	told := x.flushDeliveries()
	if n := len(told); n != 11 || told[10].DeliveryID != "e" || told[10].Suppressed != 15 {
		t.Errorf("a second later: %+v", told[len(told)-1])
	}
	// Another connection has its own limit, and a clock that is set back does no harm.
	x.now = now.Add(-time.Hour)
	x.sendRefused("g")
	if told := x.flushDeliveries(); told[len(told)-1].DeliveryID != "g" || told[len(told)-1].Suppressed != 1 {
		t.Errorf("with the clock set back: %+v", told[len(told)-1])
	}
}

// TestQueueIsBounded checks that responses do not wait for the log, and that events
// beyond the queue are dropped.
func TestQueueIsBounded(t *testing.T) {
	x := newTeller(t)
	postDelivery(x, "d-1", push)
	const sent = 1030
	for range sent {
		if w := postDelivery(x, "d-1", push); w.Code != http.StatusAccepted {
			t.Fatalf("status %d", w.Code)
		}
	}
	x.checkDropped(0, sent-1024, 0)
	if n := len(x.flushDeliveries()); n != 1024 {
		t.Errorf("recorded %d", n)
	}
}

// Events that the log rejects are dropped; the next event counts the dropped refusals.
func TestLogThatFails(t *testing.T) {
	x := newTeller(t)
	x.log.fail = errors.New("disk is full")
	x.sendRefused("a")
	x.sendRefused("b")
	x.flushDeliveries()
	x.log.fail = nil
	x.sendRefused("lost")
	x.flushDeliveries()
	x.sendRefused("c")
	told := x.flushDeliveries()
	if len(told) != 1 || told[0].DeliveryID != "c" || told[0].Suppressed != 3 {
		t.Errorf("%+v", told)
	}
	x.checkDropped(0, 0, 3)
}
