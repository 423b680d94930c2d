package wire

import "time"

// Time is a time in the format of the API: UTC, milliseconds. The zero value means that
// it is absent; it is null if the member is required.
type Time struct{ time.Time }

// At returns t as a Time.
func At(t time.Time) Time { return Time{t} }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}

// Spell returns t in the format of a URL.
func (t Time) Spell() string { return t.UTC().Format(time.RFC3339Nano) }
