package event

import (
	"bytes"
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
	for _, name := range []string{"dev.quarry.push.v2", "dev.quarry.account.created.v1", ""} {
		unknown := withHeader(rec, headerType, name)
		unknown.Position = Position{Topic: TopicEvents, Partition: 1, Offset: 7}
		_, _, err := Decode(unknown)
		if !errors.Is(err, ErrUnknownType) || !strings.Contains(err.Error(), "quarry.events/1/7") {
			t.Errorf("Decode of type %q: %v, want ErrUnknownType with the position", name, err)
		}
	}
}

func TestDecodeIgnoresUnknownFieldsAndHeaders(t *testing.T) {
	want := fullEvents()[0]
	rec := mustEncode(t, want)
	rec.Value = append([]byte(`{"urgency":{"level":[1,2]},`), rec.Value[1:]...)
	rec.Headers = append(rec.Headers, Header{"traceparent", []byte("00-…")}, Header{"ce_future", nil})
	_, got, err := Decode(rec)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v", got, want)
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
		"control in an ID": withHeader(good, headerID, "a\x00b"),
	}
	for name, rec := range tests {
		if _, ev, err := Decode(rec); !errors.Is(err, ErrInvalid) || ev != nil {
			t.Errorf("%s: event %v, error %v, want ErrInvalid", name, ev, err)
		}
	}
}

// FuzzDecode checks that no bytes make Decode panic, and that what it accepts is
// what Encode writes.
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
		// Compared by their bytes: a time zone read twice is two pointers.
		if value, err := encodeValue(again); err != nil || !bytes.Equal(value, rec.Value) {
			t.Fatalf("second encoding %q (%v), first %q", value, err, rec.Value)
		}
	})
}
