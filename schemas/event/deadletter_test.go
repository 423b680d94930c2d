package event

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/failure"
)

func TestDeadLetter(t *testing.T) {
	large := strings.Repeat("x", MaxValueBytes)
	tests := []struct {
		name               string
		key, value, header string
		want               string // whether key and value are kept, and the number of headers
	}{
		{"all of a small record", "k", "v", "h", "k v 6"},
		{"no value of a large record", "k", large, "h", "k - 6"},
		{"only its own headers, if the others are large", "k", "v", large, "- - 5"},
		{"no key that is large", large, "v", "h", "- - 5"},
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
		added := letter.Headers[len(letter.Headers)-5:]
		if string(added[0].Value) != "quarry.events/2/9" || len(added[1].Value) != maxReasonBytes || string(added[2].Value) != "other" ||
			string(added[3].Value) != "worker" || string(added[4].Value) != "3" {
			t.Errorf("%s: headers %.200q", test.name, added)
		}
		if len(rec.Headers) != 1 {
			t.Errorf("%s: the record was changed", test.name)
		}
	}
}

// TestDeadLetterKeepsTheRecord checks the headers of a dead letter and its original
// record.
func TestDeadLetterKeepsTheRecord(t *testing.T) {
	given := mustEncode(t, fullEvents()[0])
	given.Position = Position{Topic: TopicEvents, Partition: 2, Offset: 9}
	letter := DeadLetter(given, "worker", 3, errors.New("no route to host"))
	letter.Position = Position{Topic: TopicDeadLetters, Partition: 1, Offset: 4}
	if got, want := ReadLetter(letter), (Letter{Of: given.Position, Stage: "worker", Reason: "no route to host", Code: failure.Other, Attempts: 3}); got != want {
		t.Errorf("letter %+v, want %+v", got, want)
	}
	if got := Original(letter); !reflect.DeepEqual(got, given) {
		t.Errorf("original %+v, want %+v", got, given)
	}
	if got := ReadLetter(Record{}); got != (Letter{}) {
		t.Errorf("no letter: %+v", got)
	}
	by := Position{Topic: TopicEvents, Partition: 2, Offset: 11}
	resolution := Resolve(letter, LetterReplayed, &by, parseTime("2026-11-21T10:00:00Z"), "mended")
	if of, ok := Resolved(resolution); !ok || of != letter.Position {
		t.Errorf("resolves %s, %v", of, ok)
	}
	if _, ok := Resolved(letter); ok {
		t.Error("a letter is a resolution")
	}
	if id, ok := RepositoryOfKey(resolution.Key); !ok || id != 3141592653589793 {
		t.Errorf("repository %d, %v", id, ok)
	}
	for _, s := range []string{"", "a", "a/1", "a/x/1", "a/1/-1", "/1/1", "a/1/1/1", "a/4294967296/1"} {
		if p, err := ParsePosition(s); err == nil {
			t.Errorf("%q is %s", s, p)
		}
	}
}

// TestDeadLetterHoldsNoCredential checks the headers of a dead letter for a failure whose
// text contains a credential, and the parsed headers of a dead letter from an old version.
func TestDeadLetterHoldsNoCredential(t *testing.T) {
	const secret = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	reason := fmt.Errorf("fetch: %w: bad line qx_%s\x1b[2J", failure.New(failure.Vanished, "not there"), secret)
	letter := DeadLetter(Record{Key: []byte("k")}, "worker", 1, reason)
	for _, h := range letter.Headers {
		if strings.Contains(string(h.Value), secret[6:]) || strings.Contains(string(h.Value), "\x1b") {
			t.Errorf("%s: %q", h.Name, h.Value)
		}
	}
	if got := ReadLetter(letter).Code; got != failure.Vanished {
		t.Errorf("code %q, want %q", got, failure.Vanished)
	}
	old := Record{Headers: []Header{{HeaderDeadReason, []byte("bad line qx_" + secret)}, {HeaderDeadCode, []byte("qx_" + secret)}}}
	if got := ReadLetter(old); strings.Contains(got.Reason, secret[6:]) || got.Code != failure.Other {
		t.Errorf("an old letter: %+v", got)
	}
	if got := DeadLetter(Record{}, "worker", 1, fmt.Errorf("decode: %w", ErrUnknownType)); ReadLetter(got).Code != failure.Unreadable {
		t.Errorf("of an event that cannot be read: %+v", ReadLetter(got))
	}
}
