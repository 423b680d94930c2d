package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
)

// These tests need no broker; those that need one are in kafkalog_test.go.

func TestFirstRequest(t *testing.T) {
	record := func(size int) *event.Record { return &event.Record{Value: make([]byte, size)} }
	small, large := record(100), record(eventlog.MaxRecordBytes)
	many := slices.Repeat([]*event.Record{record(100_000)}, 12)
	for _, test := range []struct {
		name    string
		records []*event.Record
		want    int
	}{
		{"one", []*event.Record{small}, 1},
		{"all", []*event.Record{small, small, small}, 3},
		{"largest alone", []*event.Record{large, small}, 1 + 1},
		{"two largest", []*event.Record{large, large}, 1},
		{"small, then largest", append(slices.Repeat([]*event.Record{record(100_000)}, 2), large), 2},
		{"as many as fit", many, 10},
	} {
		got := firstRequest(test.records)
		if len(got) != test.want {
			t.Errorf("%s: %d records, want %d", test.name, len(got), test.want)
		}
	}
}

func TestRoute(t *testing.T) {
	records := []event.Record{{Key: []byte("a")}, {Key: []byte("b")}, {Key: []byte("a")}}
	parts, err := routeRecords(eventlog.AnyPartition, 4, records)
	if err != nil {
		t.Fatal(err)
	}
	a := parts[eventlog.PartitionOf([]byte("a"), 4)]
	if a == nil || !slices.Equal(a.indexes, []int{0, 2}) {
		t.Errorf("records with key a: %+v, want indexes 0 and 2", a)
	}
	if parts, err = routeRecords(3, 4, records); err != nil || len(parts) != 1 || len(parts[3].records) != 3 {
		t.Errorf("explicit partition: %v, %v", parts, err)
	}
	if _, err := routeRecords(4, 4, records); err == nil {
		t.Error("partition 4 of 4: no error")
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		err    error
		is     error
		passes bool
	}{
		{io.ErrUnexpectedEOF, io.ErrUnexpectedEOF, true},
		{kafka.NotLeaderForPartition, kafka.NotLeaderForPartition, true},
		{kafka.UnknownTopicOrPartition, kafka.UnknownTopicOrPartition, true},
		{kafka.NotEnoughReplicas, kafka.NotEnoughReplicas, true},
		{errIncomplete, errIncomplete, true},
		{kafka.SASLAuthenticationFailed, ErrRefused, false},
		{kafka.TopicAuthorizationFailed, ErrRefused, false},
		{kafka.MessageSizeTooLarge, eventlog.ErrRecordTooLarge, false},
		{kafka.OffsetOutOfRange, eventlog.ErrOffsetOutOfRange, false},
		{kafka.IllegalGeneration, eventlog.ErrPartitionLost, false},
		{kafka.InvalidTopic, kafka.InvalidTopic, false},
	} {
		wrapped := fmt.Errorf("call: %w", test.err)
		if got := classifyError(wrapped); !errors.Is(got, test.is) || !errors.Is(got, test.err) {
			t.Errorf("classify(%v) = %v, want %v", test.err, got, test.is)
		}
		if got := isRetriable(wrapped); got != test.passes {
			t.Errorf("passes(%v) = %v, want %v", test.err, got, test.passes)
		}
	}
}

// TestRetriesEndWithTheLastAnswer ends the time of a call during its second attempt: the
// error reports the brokers' response to the first one.
func TestRetriesEndWithTheLastAnswer(t *testing.T) {
	opts, err := Options{Brokers: []string{"127.0.0.1:1"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(opts, nil)
	t.Cleanup(func() { _ = l.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	attempts := 0
	err = l.withRetry(ctx, operationRequest, func(ctx context.Context) error {
		if attempts++; attempts == 1 {
			return kafka.UnknownTopicOrPartition
		}
		cancel()
		return fmt.Errorf("call: %w", ctx.Err())
	})
	if !errors.Is(err, kafka.UnknownTopicOrPartition) || !errors.Is(err, context.Canceled) || attempts != 2 {
		t.Errorf("%v after %d attempts, want %v and %v after 2", err, attempts, kafka.UnknownTopicOrPartition, context.Canceled)
	}
}

func TestJoinPasses(t *testing.T) {
	for err, want := range map[error]bool{
		io.EOF: true, kafka.UnknownMemberId: true, kafka.IllegalGeneration: true, kafka.RebalanceInProgress: true,
		kafka.GroupCoordinatorNotAvailable: true,
		kafka.InvalidSessionTimeout:        false, kafka.SASLAuthenticationFailed: false,
	} {
		if got := isRetriableJoin(fmt.Errorf("join: %w", err)); got != want {
			t.Errorf("joinPasses(%v) = %v, want %v", err, got, want)
		}
	}
}

func TestFillRanges(t *testing.T) {
	good := []kafka.PartitionOffsets{{Partition: 1, FirstOffset: 3, LastOffset: 9}, {Partition: 0, LastOffset: 4}}
	ranges := make([]offsetRange, 2)
	if err := fillRanges(ranges, good); err != nil || !slices.Equal(ranges, []offsetRange{{0, 4}, {3, 9}}) {
		t.Errorf("ranges %v, %v", ranges, err)
	}
	for name, answer := range map[string][]kafka.PartitionOffsets{
		"short":   good[:1],
		"unknown": {{Partition: 0}, {Partition: 2}},
		"no end":  {{Partition: 0, LastOffset: -1}, {Partition: 1}},
		"error":   {{Partition: 0, Error: kafka.NotLeaderForPartition}, {Partition: 1}},
	} {
		if err := fillRanges(ranges, answer); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	broken := []kafka.PartitionOffsets{{Partition: 0, Error: kafka.Unknown, FirstOffset: -1, LastOffset: -1}, {Partition: 1}}
	if err := fillRanges(ranges, broken); !isRetriable(err) {
		t.Errorf("a broken connection: %v, which does not pass", err)
	}
}

func TestFillCommitted(t *testing.T) {
	offsets := make([]event.Offset, 2)
	err := fillCommitted(offsets, []kafka.OffsetFetchPartition{{Partition: 1, CommittedOffset: 7}, {Partition: 0, CommittedOffset: -1}})
	if err != nil || !slices.Equal(offsets, []event.Offset{0, 7}) {
		t.Errorf("offsets %v, %v", offsets, err)
	}
	if err := fillCommitted(offsets, []kafka.OffsetFetchPartition{{}, {Partition: 5}}); !errors.Is(err, errIncomplete) {
		t.Errorf("partition 5 of 2: %v, want errIncomplete", err)
	}
}

// TestHoldIsExclusive makes two members of this process request the same partition.
func TestHoldIsExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Log{}
		l.mu.holds = map[heldPartition]chan struct{}{}
		h := heldPartition{"group", partitionID{"topic", 0}}
		release, err := l.holdPartition(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		var second func()
		go func() { second, _ = l.holdPartition(t.Context(), h) }()
		synctest.Wait()
		if second != nil {
			t.Fatal("held twice")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.holdPartition(ctx, h); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hold: %v, want DeadlineExceeded", err)
		}
		release()
		synctest.Wait()
		if second == nil {
			t.Fatal("not held after the release")
		}
		second()
	})
}

func TestBackoffIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pause backoff
		began := time.Now()
		for range 10 {
			if err := pause.waitNext(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		// 50 ms, 100 ms, then 200 ms each.
		if got, want := time.Since(began), 1750*time.Millisecond; got != want {
			t.Errorf("ten pauses take %v, want %v", got, want)
		}
	})
}

func TestShares(t *testing.T) {
	for _, test := range []struct {
		partitions int32
		members    int
		want       string
	}{{4, 1, "[[0 1 2 3]]"}, {4, 2, "[[0 1] [2 3]]"}, {5, 2, "[[0 1 2] [3 4]]"}, {2, 3, "[[0] [1] []]"}} {
		if got := fmt.Sprint(splitRanges(test.partitions, test.members)); got != test.want {
			t.Errorf("shares(%d, %d) = %s, want %s", test.partitions, test.members, got, test.want)
		}
	}
}
