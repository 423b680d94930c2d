package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Decode returns the event of a record and its envelope. It returns ErrUnknownType if
// this build does not know the type or its version, and ErrInvalid for anything else that
// Encode would not write, both wrapped with the record's position. Unknown fields are
// ignored. The event shares no memory with rec.
func Decode(rec Record) (Envelope, Event, error) {
	env, ev, err := decode(rec)
	if err != nil {
		return Envelope{}, nil, fmt.Errorf("decode record %s: %w", rec.Position, err)
	}
	return env, ev, nil
}

func decode(rec Record) (Envelope, Event, error) {
	// Check the type first, because an event of a later version may have other headers.
	t := TypeOf(rec)
	ev := newEvent(t)
	switch {
	case ev == nil && strings.HasPrefix(string(t), TypePrefix):
		return Envelope{}, nil, fmt.Errorf("%w: %.80q was written by a newer Quarry: upgrade, then replay the dead letter", ErrUnknownType, string(t))
	case ev == nil && t != "":
		return Envelope{}, nil, fmt.Errorf("%w: %.80q is no event of Quarry", ErrUnknownType, string(t))
	}
	env, err := decodeEnvelope(rec.Headers)
	if err != nil {
		return env, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := decodeValue(rec.Value, ev); err != nil {
		return env, nil, fmt.Errorf("%w: %s: %w", ErrInvalid, env.Type, err)
	}
	if err := validateEvent(env, ev); err != nil {
		return env, nil, fmt.Errorf("%w: %s: %w", ErrInvalid, env.Type, err)
	}
	if want := RecordKey(ev.Key()); !bytes.Equal(rec.Key, want) {
		return env, nil, fmt.Errorf("%w: %s: key %.40q, want %q", ErrInvalid, env.Type, rec.Key, want)
	}
	return env, ev, nil
}

// TypeOf returns the type in a record's header, empty without one. A reader can use it to
// skip records that it does not handle. The record is not validated.
func TypeOf(rec Record) Type { return Type(headerOf(rec, headerType)) }

// SourceOf returns the source in a record's header, empty without one. The record is not
// validated.
func SourceOf(rec Record) string { return string(headerOf(rec, headerSource)) }

// IDOf returns the ID in a record's header, empty without one. The record is not
// validated.
func IDOf(rec Record) string { return string(headerOf(rec, headerID)) }

// TraceOf returns the trace context in a record's header, empty without one. It is not
// validated.
func TraceOf(rec Record) string { return string(headerOf(rec, HeaderTrace)) }

// headerOf returns the value of the first header with that name, or nil.
func headerOf(rec Record, name string) []byte {
	for _, h := range rec.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return nil
}

// ForWorkers reports whether the workers are responsible for records of a type: they
// handle the records, and write unreadable ones to the dead letters. These are the work
// types and every unknown or missing type. The projections are responsible for all other
// types, so exactly one stage reports an unreadable record.
func ForWorkers(t Type) bool {
	return slices.Contains(workTypes, t) || newEvent(t) == nil
}

// workTypes are the types of the events that request work, in the order of their
// constants.
var workTypes = []Type{TypePush, TypeRepositoryRegistered, TypeRepositoryChanged, TypeRepositoryRemoved, TypeErasureRequested, TypePinsChanged}

// WorkTypes returns the types of the events that request work from workers.
func WorkTypes() []Type { return slices.Clone(workTypes) }

// newEvent returns an empty event of the type, or nil if the type is unknown.
func newEvent(t Type) Event {
	if d, ok := definitions[t]; ok {
		return d.new()
	}
	return nil
}

func decodeValue(value []byte, ev Event) error {
	if len(value) > MaxValueBytes {
		return fmt.Errorf("value of %d bytes, at most %d", len(value), MaxValueBytes)
	}
	// encoding/json would replace bytes that are not UTF-8.
	if !utf8.Valid(value) {
		return fmt.Errorf("value is not UTF-8")
	}
	// "null" decodes into anything and would leave an empty event.
	if trimmed := bytes.TrimLeft(value, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return fmt.Errorf("value is no JSON object")
	}
	return json.Unmarshal(value, ev)
}

// decodeEnvelope reads the headers. It ignores unknown ones, because tracing and brokers
// add their own.
func decodeEnvelope(headers []Header) (Envelope, error) {
	var env Envelope
	var seen [7]bool
	for _, h := range headers {
		i, err := env.setHeader(h)
		if err != nil {
			return env, fmt.Errorf("header %s: %w", h.Name, err)
		}
		if i < 0 {
			continue
		}
		if seen[i] {
			return env, fmt.Errorf("header %s occurs twice", h.Name)
		}
		seen[i] = true
	}
	for i, name := range []string{headerSpecVersion, headerID, headerSource, headerType, headerTime, headerSubject, headerContentType} {
		if !seen[i] {
			return env, fmt.Errorf("header %s is missing", name)
		}
	}
	return env, nil
}

// setHeader stores one header in the envelope and returns its number, or -1 if it is not
// one of Quarry's.
func (env *Envelope) setHeader(h Header) (int, error) {
	value := string(h.Value)
	switch h.Name {
	case headerSpecVersion:
		return 0, wantEqual(value, specVersion)
	case headerID:
		env.ID = value
		return 1, nil
	case headerSource:
		env.Source = value
		return 2, nil
	case headerType:
		env.Type = Type(value)
		return 3, nil
	case headerTime:
		t, err := time.Parse(time.RFC3339Nano, value)
		env.Time = t.UTC()
		return 4, err
	case headerSubject:
		env.Subject = value
		return 5, nil
	case headerContentType:
		mediaType, _, _ := strings.Cut(value, ";")
		return 6, wantEqual(strings.ToLower(strings.TrimSpace(mediaType)), contentType)
	}
	return -1, nil
}

func wantEqual(got, want string) error {
	if got != want {
		return fmt.Errorf("%.80q, want %q", got, want)
	}
	return nil
}
