package event

import (
	"errors"
	"strings"
	"testing"
)

func TestDeadLetter(t *testing.T) {
	large := strings.Repeat("x", MaxValueBytes)
	tests := []struct {
		name               string
		key, value, header string
		want               string // key and value kept, and the number of headers
	}{
		{"all of a small record", "k", "v", "h", "k v 5"},
		{"no value of a large record", "k", large, "h", "k - 5"},
		{"headers of its own only, if the others are large", "k", "v", large, "- - 4"},
		{"no key that is large", large, "v", "h", "- - 4"},
	}
	kept := func(b []byte) string {
		if len(b) == 0 {
			return "-"
		}
		return string(b)
	}
	for _, test := range tests {
		rec := Record{Key: []byte(test.key), Value: []byte(test.value), Headers: []Header{{"ce_id", []byte(test.header)}},
			Position: Position{Topic: TopicEvents, Partition: 2, Offset: 9}}
		letter := DeadLetter(rec, "worker", 3, errors.New(strings.Repeat("why ", 4<<10)))
		got := kept(letter.Key) + " " + kept(letter.Value) + " " + string(rune('0'+len(letter.Headers)))
		if got != test.want {
			t.Errorf("%s: kept %.40s, want %s", test.name, got, test.want)
		}
		if size := letter.SizeBytes(); size > MaxValueBytes+maxReasonBytes {
			t.Errorf("%s: %d bytes", test.name, size)
		}
		added := letter.Headers[len(letter.Headers)-4:]
		if string(added[0].Value) != "quarry.events/2/9" || len(added[1].Value) != maxReasonBytes ||
			string(added[2].Value) != "worker" || string(added[3].Value) != "3" {
			t.Errorf("%s: headers %.200q", test.name, added)
		}
		if len(rec.Headers) != 1 {
			t.Errorf("%s: the record was changed", test.name)
		}
	}
}
