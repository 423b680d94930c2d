package eventlog_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestPartitionOf compares partitions with those in existing logs: a different value
// would move a repository to a partition without its earlier events.
func TestPartitionOf(t *testing.T) {
	for _, test := range []struct {
		key     string
		n, want int32
	}{
		{"", 4, 1},
		{"a", 4, 0},
		{"foobar", 1 << 30, 0x3f9cf968},
		{"3141592653589793", 1, 0},
	} {
		if got := eventlog.PartitionOf([]byte(test.key), test.n); got != test.want {
			t.Errorf("PartitionOf(%q, %d) = %d, want %d", test.key, test.n, got, test.want)
		}
	}
}

// TestPartitionsAreEven distributes repositories by their real keys.
func TestPartitionsAreEven(t *testing.T) {
	const repositories = 20_000
	for _, n := range []int32{2, 4, 7, 16, 64} {
		counts := make([]int, n)
		for i := range repositories {
			id := code.NewRepositoryID("github.com", string(rune('a'+i%26))+string(rune(i)))
			counts[eventlog.PartitionOf(event.RecordKey(id), n)]++
		}
		mean := repositories / int(n)
		for p, count := range counts {
			if count < mean*3/4 || count > mean*5/4 {
				t.Errorf("%d of %d repositories in partition %d of %d, mean %d", count, repositories, p, n, mean)
			}
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"quarry.events": true, "a": true, "A-b_c.0": true, strings.Repeat("x", eventlog.MaxNameBytes): true,
		"": false, ".": false, "..": false, "a/b": false, "a b": false, "a\x00b": false, "é": false,
		strings.Repeat("x", eventlog.MaxNameBytes+1): false,
	} {
		if err := eventlog.CheckName(name); (err == nil) != ok {
			t.Errorf("CheckName(%.20q) = %v, want ok: %v", name, err, ok)
		}
	}
}

func TestCheckRecord(t *testing.T) {
	rec := event.Record{
		Key: []byte("k"), Value: bytes.Repeat([]byte("x"), eventlog.MaxRecordBytes-5),
		Headers: []event.Header{{Name: "ab", Value: []byte("cd")}},
	}
	if err := eventlog.CheckRecord(&rec); err != nil {
		t.Errorf("record of MaxRecordBytes: %v", err)
	}
	rec.Headers[0].Name = "abc"
	if err := eventlog.CheckRecord(&rec); !errors.Is(err, eventlog.ErrRecordTooLarge) {
		t.Errorf("one byte more: %v, want ErrRecordTooLarge", err)
	}
}

func TestCheckPartition(t *testing.T) {
	for _, test := range []struct {
		partition int32
		any, ok   bool
	}{{0, false, true}, {3, false, true}, {4, false, false}, {-1, false, false}, {-1, true, true}, {-2, true, false}} {
		if err := eventlog.CheckPartition(test.partition, 4, test.any); (err == nil) != test.ok {
			t.Errorf("CheckPartition(%d, 4, %v) = %v, want ok: %v", test.partition, test.any, err, test.ok)
		}
	}
}
