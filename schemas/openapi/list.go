package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// List is a JSON object that preserves the order of its members.
type List[V any] []Member[V]

// Member is one member of an object.
type Member[V any] struct {
	Name  string
	Value V
}

// Get returns the value of the member with that name, or the zero value.
func (l List[V]) Get(name string) V {
	for i := range l {
		if l[i].Name == name {
			return l[i].Value
		}
	}
	var none V
	return none
}

// Has reports whether there is a member with that name.
func (l List[V]) Has(name string) bool {
	for i := range l {
		if l[i].Name == name {
			return true
		}
	}
	return false
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *List[V]) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("want an object, have %v: %w", t, err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		m := Member[V]{Name: name.(string)}
		if l.Has(m.Name) {
			return fmt.Errorf("%s is there twice", m.Name)
		}
		if err := d.Decode(&m.Value); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		*l = append(*l, m)
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (l List[V]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range l {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(l[i].Name) // cannot fail: it is a string
		value, err := encode(l[i].Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l[i].Name, err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *SchemaOrFalse) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "false":
		s.Closed = true
		return nil
	case "true":
		s.Schema = new(Schema)
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(&s.Schema)
}

// MarshalJSON implements json.Marshaler.
func (s *SchemaOrFalse) MarshalJSON() ([]byte, error) {
	if s.Closed {
		return []byte("false"), nil
	}
	return encode(s.Schema)
}

// encode is json.Marshal without HTML escaping.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
