package event

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

func TestRoundTrip(t *testing.T) {
	for _, ev := range append(fullEvents(), minimalEvents()...) {
		t.Run(shortName(ev.EventType()), func(t *testing.T) {
			rec := mustEncode(t, ev)
			env, got, err := Decode(rec)
			if err != nil {
				t.Fatalf("%v\n%s", err, rec.Value)
			}
			if !reflect.DeepEqual(got, ev) {
				t.Errorf("decoded %+v\nwant %+v", got, ev)
			}
			want := sampleEnvelope()
			want.Type, want.Subject = ev.EventType(), subjectOf(ev)
			if env != want {
				t.Errorf("envelope %+v, want %+v", env, want)
			}
			if again := mustEncode(t, got); !reflect.DeepEqual(again, rec) {
				t.Errorf("encoded again %q, want %q", again.Value, rec.Value)
			}
		})
	}
}

func TestEncodeKeepsHTMLCharacters(t *testing.T) {
	rec := mustEncode(t, fullEvents()[0])
	if want := `"pusher":"zoë <zoe@example.com>"`; !bytes.Contains(rec.Value, []byte(want)) {
		t.Errorf("value %s, want %s in it", rec.Value, want)
	}
}

func TestEncodeDoesNotChangeTheEvent(t *testing.T) {
	ev := fullEvents()[4].(*RevisionIndexed)
	mustEncode(t, ev)
	if !reflect.DeepEqual(ev, fullEvents()[4]) {
		t.Errorf("event after Encode: %+v", ev)
	}
}

// TestInvalid breaks one rule of a valid event at a time.
func TestInvalid(t *testing.T) {
	push := func(change func(*Push)) Event { e := *fullEvents()[0].(*Push); change(&e); return &e }
	repo := func(change func(*code.Repository)) Event {
		e := *fullEvents()[1].(*RepositoryRegistered)
		change(&e.Repository)
		return &e
	}
	indexed := func(change func(*RevisionIndexed)) Event {
		e := *fullEvents()[4].(*RevisionIndexed)
		change(&e)
		return &e
	}
	delivery := func(change func(*Delivery)) Event { e := *fullEvents()[6].(*Delivery); change(&e); return &e }
	handled := func(change func(*PushesHandled)) Event {
		e := *fullEvents()[7].(*PushesHandled)
		change(&e)
		return &e
	}
	merged := func(change func(*SegmentsMerged)) Event {
		e := *fullEvents()[5].(*SegmentsMerged)
		change(&e)
		return &e
	}
	tests := []struct {
		name, want string
		ev         Event
	}{
		{"no repository", "repository", push(func(e *Push) { e.Repository = 0 })},
		{"repository of 53 bits", "repository", push(func(e *Push) { e.Repository = 1 << 52 })},
		{"push without ref", "ref", push(func(e *Push) { e.Ref = "" })},
		{"ref as an option", "ref", push(func(e *Push) { e.Ref = "--upload-pack=x" })},
		{"ref not UTF-8", "UTF-8", push(func(e *Push) { e.Ref = "refs/heads/\xff" })},
		{"short commit", "after", push(func(e *Push) { e.After = "abc" })},
		{"zero commit", "before", push(func(e *Push) { e.Before = code.CommitID(strings.Repeat("0", 40)) })},
		{"unknown action", "action", push(func(e *Push) { e.Action = "merged" })},
		{"forced", "forced", push(func(e *Push) { e.Forced = "yes" })},
		{"body hash", "bodySha256", push(func(e *Push) { e.BodySHA256 = "0F" })},
		{"long pusher", "pusher", push(func(e *Push) { e.Pusher = strings.Repeat("x", MaxPusherBytes+1) })},
		{"control character", "pusher", push(func(e *Push) { e.Pusher = "a\nb" })},
		{"year 10000", "receivedAt", push(func(e *Push) { e.ReceivedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) })},
		{"unknown kind", "kind", repo(func(r *code.Repository) { r.Kind = "svn" })},
		{"no name", "name", repo(func(r *code.Repository) { r.Name = "" })},
		{"no clone URL", "cloneUrl", repo(func(r *code.Repository) { r.CloneURL = "" })},
		{"password in URL", "credentials", repo(func(r *code.Repository) { r.CloneURL = "https://u:hunter2@h/r" })},
		{"token in URL", "credentials", repo(func(r *code.Repository) { r.CloneURL = "https://hunter2@h/r" })},
		{"password in ssh URL", "credentials", repo(func(r *code.Repository) { r.CloneURL = "ssh://u:hunter2@h/r" })},
		{"unreadable URL", "cloneUrl", repo(func(r *code.Repository) { r.CloneURL = "https://u:hunter2@h:x y/r" })},
		{"empty glob", "branches", repo(func(r *code.Repository) { r.Branches = []string{""} })},
		{"empty glob of tags", "tags", repo(func(r *code.Repository) { r.Tags = []string{""} })},
		{"many globs", "branches", repo(func(r *code.Repository) { r.Branches = make([]string, code.MaxRefGlobs+1) })},
		{"bad default branch", "defaultBranch", repo(func(r *code.Repository) { r.DefaultBranch = "a..b" })},
		{"base ref alone", "baseCommit", indexed(func(e *RevisionIndexed) { e.BaseCommit = "" })},
		{"changes twice", "changesObject", indexed(func(e *RevisionIndexed) { e.ChangesObject = "x" })},
		{"object leaves the store", "changesObject", indexed(func(e *RevisionIndexed) { e.Changes, e.ChangesObject = nil, "../../x" })},
		{"object with a space", "changesObject", indexed(func(e *RevisionIndexed) { e.Changes, e.ChangesObject = nil, "a b" })},
		{"path leaves the tree", "changes", indexed(func(e *RevisionIndexed) { e.Changes = []Change{{Path: "a/../b"}} })},
		{"paths out of order", "changes", indexed(func(e *RevisionIndexed) { e.Changes = []Change{{Path: "b"}, {Path: "a"}} })},
		{"path twice", "changes", indexed(func(e *RevisionIndexed) { e.Changes = []Change{{Path: "a"}, {Path: "a"}} })},
		{"negative size", "sizeBytes", indexed(func(e *RevisionIndexed) { e.Changes = []Change{{Path: "a", SizeBytes: -1}} })},
		{"many changes", "changes", indexed(func(e *RevisionIndexed) { e.Changes = make([]Change, MaxInlineChanges+1) })},
		{"segment ID", "segments.id", indexed(func(e *RevisionIndexed) { e.Segments = []SegmentRef{{ID: "../x"}} })},
		{"many segments", "segments", indexed(func(e *RevisionIndexed) { e.Segments = make([]SegmentRef, MaxSegments+1) })},
		{"no cause", "cause", indexed(func(e *RevisionIndexed) { e.Cause = Position{} })},
		{"no inputs", "inputs", merged(func(e *SegmentsMerged) { e.Inputs = nil })},
		{"negative partition", "partition", merged(func(e *SegmentsMerged) { e.Partition = -1 })},
		{"delivery without ID", "deliveryId", delivery(func(e *Delivery) { e.DeliveryID = "" })},
		{"unknown outcome", "outcome", delivery(func(e *Delivery) { e.Outcome = "lost" })},
		{"duplicate of nothing", "of", delivery(func(e *Delivery) { e.Of = nil })},
		{"refused and a duplicate", "of", delivery(func(e *Delivery) { e.Outcome = DeliveryRefused })},
		{"no pushes", "pushes", handled(func(e *PushesHandled) { e.Pushes = nil })},
		{"too many pushes", "pushes", handled(func(e *PushesHandled) { e.Pushes = make([]HandledPush, MaxHandledPushes+1) })},
		{"pushes out of order", "pushes", handled(func(e *PushesHandled) { e.Pushes = []HandledPush{{2, PushAbsent, ""}, {2, PushAbsent, ""}} })},
		{"unknown push outcome", "pushes.outcome", handled(func(e *PushesHandled) { e.Pushes = []HandledPush{{2, "lost", ""}} })},
		{"erasure of a path outside", "path", &ErasureRequested{Repository: 1, Path: "../a", At: parseTime("2026-11-21T10:00:00Z")}},
		{"erasure of a commit and a path", "commit", &ErasureRequested{Repository: 1, Commit: commitA, Path: "a", At: parseTime("2026-11-21T10:00:00Z")}},
		{"precise index of no commit", "commit", &ScipUploaded{Repository: 1, Object: "x", Keep: 1}},
		{"precise index of a path outside", "path", &ScipUploaded{Repository: 1, Commit: commitA, Path: "../a", Object: "x", Keep: 1}},
		{"precise index outside the store", "object", &ScipUploaded{Repository: 1, Commit: commitA, Object: "../x", Keep: 1}},
		{"precise index that is not kept", "keep", &ScipUploaded{Repository: 1, Commit: commitA, Object: "x"}},
		{"deletion of no precise index", "object", &ScipDeleted{Repository: 1}},
		{"deletion outside the store", "object", &ScipDeleted{Repository: 1, Object: "../x"}},
		{"erasure of no commit", "commit", &ErasureRequested{Repository: 1, At: parseTime("2026-11-21T10:00:00Z")}},
		{"erasure of a branch", "commit", &ErasureRequested{Repository: 1, Commit: "main", At: parseTime("2026-11-21T10:00:00Z")}},
		{"output size", "output.documents", merged(func(e *SegmentsMerged) { e.Output = &SegmentRef{ID: e.Inputs[0], Documents: -1} })},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Encode(sampleEnvelope(), test.ev)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("Encode: %v, want ErrInvalid naming %q", err, test.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats a credential: %v", err)
			}
			// Decode must also reject such values from another producer.
			value, err := encodeValue(test.ev)
			if err != nil {
				return
			}
			env := sampleEnvelope()
			env.Type, env.Subject = test.ev.EventType(), subjectOf(test.ev)
			rec := Record{Key: RecordKey(test.ev.Key()), Value: value, Headers: headersOf(env)}
			if _, _, err := Decode(rec); !errors.Is(err, ErrInvalid) && test.name != "ref not UTF-8" {
				t.Errorf("Decode: %v, want ErrInvalid", err)
			}
		})
	}
}

func TestEncodeTooLarge(t *testing.T) {
	ev := &RevisionIndexed{Repository: 1, Ref: "refs/heads/main", Cause: Position{Topic: "t"}}
	for i := range MaxInlineChanges {
		ev.Changes = append(ev.Changes, Change{Path: fmt.Sprintf("%04d/%s", i, strings.Repeat("x", 2000))})
	}
	if _, err := Encode(sampleEnvelope(), ev); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("Encode: %v, want ErrTooLarge", err)
	}
}

func TestEncodeEnvelope(t *testing.T) {
	ev := fullEvents()[0]
	for _, env := range []Envelope{{Source: "/x"}, {ID: "x"}, {ID: strings.Repeat("x", MaxIDBytes+1), Source: "/x"}, {ID: "a\nb", Source: "/x"}} {
		if _, err := Encode(env, ev); !errors.Is(err, ErrInvalid) {
			t.Errorf("Encode(%+v): %v, want ErrInvalid", env, err)
		}
	}
	if _, err := Encode(sampleEnvelope(), nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("Encode(nil): %v, want ErrInvalid", err)
	}
}

func TestDerivedID(t *testing.T) {
	cause := Position{Topic: TopicEvents, Partition: 3, Offset: 41}
	long := "indexed:refs/heads/" + strings.Repeat("x", code.MaxRefBytes)
	for step, want := range map[string]string{
		"indexed":                 "quarry.events/3/41#indexed",
		"indexed:refs/heads/main": "quarry.events/3/41#indexed:refs/heads/main",
		"push\x00refs/heads/main": "quarry.events/3/41#c1b1a9361cbe4e1f541b25c0cd82c4f5",
		long:                      "",
	} {
		got := DerivedID(cause, step)
		if want != "" && got != want {
			t.Errorf("DerivedID(%.40q) = %q, want %q", step, got, want)
		}
		env := sampleEnvelope()
		env.ID = got
		if _, err := Encode(env, fullEvents()[0]); err != nil {
			t.Errorf("DerivedID(%.40q) = %q, which Encode refuses: %v", step, got, err)
		}
	}
	if DerivedID(cause, long) == DerivedID(cause, long+"y") {
		t.Error("two steps have one ID")
	}
}

func TestTypeOf(t *testing.T) {
	for _, ev := range fullEvents() {
		if got := TypeOf(mustEncode(t, ev)); got != ev.EventType() {
			t.Errorf("TypeOf = %q, want %q", got, ev.EventType())
		}
	}
	if got := TypeOf(Record{}); got != "" {
		t.Errorf("TypeOf of a record without headers = %q", got)
	}
}

func BenchmarkEncodePush(b *testing.B) {
	ev, env := fullEvents()[0], sampleEnvelope()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(env, ev); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePush(b *testing.B) {
	rec := mustEncode(b, fullEvents()[0])
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Decode(rec); err != nil {
			b.Fatal(err)
		}
	}
}
