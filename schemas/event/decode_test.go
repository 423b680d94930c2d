package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func withHeader(rec Record, name, value string) Record {
	rec.Headers = slices.Clone(rec.Headers)
	for i := range rec.Headers {
		if rec.Headers[i].Name == name {
			rec.Headers[i].Value = []byte(value)
		}
	}
	return rec
}

func TestDecodeUnknownType(t *testing.T) {
	rec := mustEncode(t, fullEvents()[0])
	for name, want := range map[string]string{
		"dev.quarry.push.v2":            "newer Quarry: upgrade, then replay the dead letter",
		"dev.quarry.account.created.v1": "newer Quarry: upgrade, then replay the dead letter",
		"com.example.order.v1":          "is no event of Quarry",
	} {
		unknown := withHeader(rec, headerType, name)
		unknown.Position = Position{Topic: TopicEvents, Partition: 1, Offset: 7}
		_, _, err := Decode(unknown)
		if !errors.Is(err, ErrUnknownType) || !strings.Contains(err.Error(), "quarry.events/1/7") || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode of type %q: %v, want ErrUnknownType with the position and %q", name, err, want)
		}
		// A later version may have other headers.
		bare := Record{Headers: []Header{{headerType, []byte(name)}}}
		if _, _, err := Decode(bare); !errors.Is(err, ErrUnknownType) {
			t.Errorf("Decode of type %q with no other header: %v, want ErrUnknownType", name, err)
		}
		if !ForWorkers(Type(name)) {
			t.Errorf("no stage answers for type %q", name)
		}
	}
}

// TestOneStageAnswersForEveryType lists the responsible stage of each type, so that a new
// type gets one.
func TestOneStageAnswersForEveryType(t *testing.T) {
	workers := []Type{TypePush, TypeRepositoryRegistered, TypeRepositoryChanged, TypeRepositoryRemoved, TypeErasureRequested, TypePinsChanged}
	projections := []Type{TypeRevisionIndexed, TypeSegmentsMerged, TypeDelivery, TypePushesHandled, TypeScipUploaded, TypeScipDeleted, TypeSubmodulesListed, TypeAuditRecorded, TypeAuditSealed}
	for _, ev := range fullAccountEvents() {
		projections = append(projections, ev.EventType())
	}
	for _, ev := range fullEvents() {
		typ := ev.EventType()
		if slices.Contains(workers, typ) == slices.Contains(projections, typ) || ForWorkers(typ) != slices.Contains(workers, typ) {
			t.Errorf("%s: is for workers: %t; say so in this test", typ, ForWorkers(typ))
		}
	}
	if !ForWorkers("") {
		t.Error("no stage answers for a record without a type")
	}
}

// TestDecodeIgnoresUnknownFieldsAndHeaders adds fields that a later version may
// have, to every object of every event.
func TestDecodeIgnoresUnknownFieldsAndHeaders(t *testing.T) {
	for _, want := range fullEvents() {
		rec := mustEncode(t, want)
		root := decodeObject(t, rec.Value)
		addUnknown(root)
		value, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		rec.Value = value
		rec.Headers = append(rec.Headers, Header{"traceparent", []byte("00-…")}, Header{"ce_future", nil})
		_, got, err := Decode(rec)
		if err != nil {
			t.Fatalf("%s: %v", want.EventType(), err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("decoded %+v, want %+v", got, want)
		}
	}
}

// addUnknown adds a field to v and all objects within it, except those whose fields are
// data.
func addUnknown(v any) {
	switch v := v.(type) {
	case object:
		for name, field := range v {
			if !slices.Contains([]string{"users", "keys", "metadata"}, name) {
				addUnknown(field)
			}
		}
		v["urgency"] = []any{[]int{1, 2}, nil, "x"}
	case []any:
		for _, element := range v {
			addUnknown(element)
		}
	}
}

func TestDecodeInvalid(t *testing.T) {
	good := mustEncode(t, fullEvents()[0])
	value := func(s string) Record { rec := good; rec.Value = []byte(s); return rec }
	without := func(name string) Record {
		rec := good
		rec.Headers = slices.DeleteFunc(slices.Clone(rec.Headers), func(h Header) bool { return h.Name == name })
		return rec
	}
	twice := good
	twice.Headers = append(slices.Clone(good.Headers), Header{headerID, []byte("other")})
	otherKey := good
	otherKey.Key = []byte("5")
	tests := map[string]Record{
		"empty":            {},
		"null":             value("null"),
		"list":             value("[]"),
		"empty value":      value(""),
		"truncated":        value(string(good.Value[:len(good.Value)-1])),
		"trailing":         value(string(good.Value) + "{}"),
		"empty object":     value("{}"),
		"wrong type":       value(`{"repository":"x"}`),
		"not UTF-8":        value(strings.Replace(string(good.Value), "acme", "ac\xffme", 1)),
		"too large":        value(string(good.Value) + strings.Repeat(" ", MaxValueBytes)),
		"deep":             value(`{"x":` + strings.Repeat("[", 100_000) + "}"),
		"other key":        otherKey,
		"header twice":     twice,
		"no ID":            without(headerID),
		"no content type":  without(headerContentType),
		"no spec version":  without(headerSpecVersion),
		"spec version 2":   withHeader(good, headerSpecVersion, "2.0"),
		"protobuf":         withHeader(good, headerContentType, "application/protobuf"),
		"bad time":         withHeader(good, headerTime, "yesterday"),
		"other subject":    withHeader(good, headerSubject, "repository/5"),
		"empty ID":         withHeader(good, headerID, ""),
		"empty type":       withHeader(good, headerType, ""),
		"control in an ID": withHeader(good, headerID, "a\x00b"),
	}
	for name, rec := range tests {
		if _, ev, err := Decode(rec); !errors.Is(err, ErrInvalid) || ev != nil {
			t.Errorf("%s: event %v, error %v, want ErrInvalid", name, ev, err)
		}
	}
}

// FuzzDecode checks that Decode never panics, and that it accepts only what Encode would
// write.
func FuzzDecode(f *testing.F) {
	samples, err := filepath.Glob(filepath.Join("..", "testdata", "*.event"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range samples {
		sample, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(sample)
	}
	for _, ev := range minimalEvents() {
		f.Add(formatSample(mustEncode(f, ev)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		head, _, found := bytes.Cut(b, []byte("\n\n"))
		if !found || len(head) == 0 {
			return
		}
		env, ev, err := Decode(parseSample(t, b))
		if err != nil {
			if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnknownType) {
				t.Fatalf("error of no sentinel: %v", err)
			}
			return
		}
		rec, err := Encode(env, ev)
		if errors.Is(err, ErrTooLarge) {
			return
		}
		if err != nil {
			t.Fatalf("decoded %+v, which Encode refuses: %v", ev, err)
		}
		_, again, err := Decode(rec)
		if err != nil {
			t.Fatalf("encoded %q, which Decode refuses: %v", rec.Value, err)
		}
		// Compare the bytes, because a time zone that is parsed twice yields two
		// pointers.
		if value, err := encodeValue(again); err != nil || !bytes.Equal(value, rec.Value) {
			t.Fatalf("second encoding %q (%v), first %q", value, err, rec.Value)
		}
	})
}
