// Package sciptest builds SCIP indexes for tests.
//
// It answers the question "what would an indexer have written?". Its main type is Message,
// a protobuf message that is built field by field, so that a test can also build invalid
// indexes.
package sciptest

import "google.golang.org/protobuf/encoding/protowire"

// Message is an encoded protobuf message. Its methods append a field and return the
// extended message.
type Message []byte

// Text appends a string field.
func (m Message) Text(field protowire.Number, s string) Message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

// Number appends a varint field.
func (m Message) Number(field protowire.Number, n uint64) Message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

// Part appends an embedded message.
func (m Message) Part(field protowire.Number, part Message) Message {
	return m.Text(field, string(part))
}

// Packed appends a packed field of varints.
func (m Message) Packed(field protowire.Number, values ...uint64) Message {
	var b []byte
	for _, v := range values {
		b = protowire.AppendVarint(b, v)
	}
	return m.Text(field, string(b))
}

// NewIndex returns an index by the tool, without documents.
func NewIndex(tool string) Message { return Message{}.Part(1, NewMetadata(tool)) }

// NewMetadata returns the metadata of an index by the tool.
func NewMetadata(tool string) Message {
	return Message{}.Part(2, Message{}.Text(1, tool).Text(2, "v1"))
}

// NewDocument returns a document with the given fields.
func NewDocument(path string, parts ...Message) Message {
	d := Message{}.Text(1, path)
	for _, p := range parts {
		d = append(d, p...)
	}
	return d
}

// NewOccurrence returns an occurrence at a SCIP range, which has three or four numbers.
func NewOccurrence(symbol string, roles uint64, place ...uint64) Message {
	return Message{}.Packed(1, place...).Text(2, symbol).Number(3, roles)
}
