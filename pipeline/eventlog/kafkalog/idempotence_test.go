package kafkalog_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// cutter cuts connections after the broker has answered a produce request, before the
// client receives the response.
type cutter struct {
	// left is the number of connections still to cut; cuts counts those already cut.
	left, cuts atomic.Int64
}

func (c *cutter) wrap(conn net.Conn) net.Conn { return &cutConn{Conn: conn, cutter: c} }

// cutConn is used by one goroutine at a time, as in the client library.
type cutConn struct {
	net.Conn
	cutter *cutter
	cut    bool // the next response is to a produce request
}

// produceKey is the API key of produce requests, which follows the size in a request.
const produceKey = 0

func (c *cutConn) Write(b []byte) (int, error) {
	if len(b) >= 6 && binary.BigEndian.Uint16(b[4:]) == produceKey && c.cutter.left.Load() > 0 {
		c.cut = true
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	if !c.cut {
		return c.Conn.Read(b)
	}
	// The first byte of a response has arrived: the broker has handled the request.
	if _, err := io.ReadFull(c.Conn, make([]byte, 1)); err != nil {
		return 0, err
	}
	c.cutter.left.Add(-1)
	c.cutter.cuts.Add(1)
	return 0, errors.Join(io.ErrUnexpectedEOF, c.Close())
}

// cutLog opens a log whose connections are cut by a cutter, and creates a topic for it.
func cutLog(t *testing.T, broker *kafkatest.Broker, topic event.Topic, timeout time.Duration) (*kafkalog.Log, *cutter) {
	t.Helper()
	c := new(cutter)
	l := mustOpen(t, kafkalog.Options{Brokers: broker.Addresses, AppendTimeout: timeout}.Wrapped(c.wrap))
	if err := l.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: topic, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	return l, c
}

// lostAcknowledgements cuts the connection after each tenth append: the retry adds no
// second record.
func lostAcknowledgements(t *testing.T, broker *kafkatest.Broker) {
	const topic, n = event.Topic("lost-acknowledgements"), 50
	l, c := cutLog(t, broker, topic, time.Hour)
	var want []string
	for i := range n {
		if i%10 == 5 {
			c.left.Store(int64(1 + i/10)) // 1 to 5 times in turn
		}
		text := strconv.Itoa(i)
		positions, err := l.Append(t.Context(), topic, 0, textRecord(text))
		if err != nil {
			t.Fatal(err)
		}
		if positions[0].Offset != event.Offset(i) {
			t.Errorf("record %d acknowledged at %d", i, positions[0].Offset)
		}
		want = append(want, text)
	}
	if cuts := c.cuts.Load(); cuts != 1+2+3+4+5 {
		t.Errorf("%d acknowledgements were lost, want 15", cuts)
	}
	if got := readTexts(t, l, topic, 0); !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	if _, err := l.Layout(t.Context(), "__transaction_state"); !errors.Is(err, kafkalog.ErrNoTopic) {
		t.Errorf("layout of the topic of transactions: %v; asking for a producer's number is not to create it", err)
	}
}

// givenUp blocks all acknowledgements until the append is given up: its record appears
// once, and the next append continues.
func givenUp(t *testing.T, broker *kafkatest.Broker) {
	const topic = event.Topic("given-up")
	l, c := cutLog(t, broker, topic, 2*time.Second)
	c.left.Store(1 << 30)
	if _, err := l.Append(t.Context(), topic, 0, textRecord("given up")); !errors.Is(err, eventlog.ErrFull) {
		t.Errorf("Append: %v, want ErrFull", err)
	}
	c.left.Store(0)
	for _, text := range []string{"next", "last"} {
		if _, err := l.Append(t.Context(), topic, 0, textRecord(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := readTexts(t, l, topic, 0), []string{"given up", "next", "last"}; !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	if c.cuts.Load() < 2 {
		t.Errorf("%d attempts, want more than one", c.cuts.Load())
	}
}

// readTexts reads a partition to its end.
func readTexts(t *testing.T, l *kafkalog.Log, topic event.Topic, partition int32) []string {
	t.Helper()
	ctx := clocktest.NewContext(t)
	marks, err := l.HighWater(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Tail(ctx, topic, partition, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []string
	for at := event.Offset(0); at < marks[partition]; {
		rec, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		at = rec.Position.Offset + 1
		all = append(all, string(rec.Value))
	}
	return all
}
