// Package sciptest builds SCIP indexes for tests.
//
// It answers the question "what would an indexer have written?". Its main type is Message,
// a protobuf message that is built field by field, so that a test may write what no indexer
// would.
package sciptest

import "google.golang.org/protobuf/encoding/protowire"

// Message is an encoded protobuf message. Its methods append a field and return the longer
// message.
type Message []byte

// Text appends a field of bytes.
func (m Message) Text(field protowire.Number, s string) Message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

// Number appends a varint.
func (m Message) Number(field protowire.Number, n uint64) Message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

// Part appends a message.
func (m Message) Part(field protowire.Number, part Message) Message {
	return m.Text(field, string(part))
}

// Packed appends varints as one field.
func (m Message) Packed(field protowire.Number, values ...uint64) Message {
	var b []byte
	for _, v := range values {
		b = protowire.AppendVarint(b, v)
	}
	return m.Text(field, string(b))
}

// NewIndex returns an index of the tool without documents.
func NewIndex(tool string) Message { return Message{}.Part(1, NewMetadata(tool)) }

// NewMetadata returns the metadata of an index of a tool.
func NewMetadata(tool string) Message {
	return Message{}.Part(2, Message{}.Text(1, tool).Text(2, "v1"))
}

// NewDocument returns a document with parts, which are its fields.
func NewDocument(path string, parts ...Message) Message {
	d := Message{}.Text(1, path)
	for _, p := range parts {
		d = append(d, p...)
	}
	return d
}

// NewOccurrence returns an occurrence at a range of three or four numbers, as SCIP has them.
func NewOccurrence(symbol string, roles uint64, place ...uint64) Message {
	return Message{}.Packed(1, place...).Text(2, symbol).Number(3, roles)
}
