package scip

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Visitor receives the parts of an index in order, the metadata first. It must not retain
// them. ReadIndex stops at the first error.
type Visitor interface {
	VisitMetadata(m *Metadata) error
	VisitDocument(d *Document) error
	// VisitExternal receives a symbol that is defined outside of the index.
	VisitExternal(i *Information) error
}

// The fields of the message Index.
const (
	fieldMetadata  = 1
	fieldDocuments = 2
	fieldExternals = 3
)

// ReadIndex decodes an index from r part by part, with one document in memory at a time, in a compact form.
// Its errors wrap ErrInvalid, ErrTooLarge, or an error of r or v.
func ReadIndex(r io.Reader, l Limits, v Visitor) error {
	l = l.withDefaults()
	bounded := &boundedReader{r: r, left: l.MaxBytes, max: l.MaxBytes}
	s := stream{r: bufio.NewReaderSize(bounded, 256<<10), limits: l, visitor: v}
	for {
		more, err := s.readPart()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if !s.begun {
		return invalidf("it has no metadata: want the file that an indexer wrote, such as index.scip")
	}
	return nil
}

// stream decodes the fields of one Index.
type stream struct {
	r         *bufio.Reader
	limits    Limits
	visitor   Visitor
	buffer    bytes.Buffer
	begun     bool
	encoding  Encoding
	documents int
}

// readPart decodes one field; more is false at the end.
func (s *stream) readPart() (more bool, err error) {
	if _, err := s.r.Peek(1); err != nil {
		if err == io.EOF {
			return false, nil
		}
		return false, fmt.Errorf("read the index: %w", err)
	}
	tag, err := s.readVarint()
	if err != nil {
		return false, err
	}
	number, kind := protowire.Number(tag>>3), protowire.Type(tag&7)
	known := number >= fieldMetadata && number <= fieldExternals
	switch {
	case tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) || known && kind != protowire.BytesType:
		return false, invalidf("field %d of type %d is not one of an index", tag>>3, kind)
	case kind == protowire.VarintType:
		_, err := s.readVarint()
		return true, err
	case kind != protowire.BytesType:
		return false, invalidf("field %d has type %d", number, kind)
	}
	size, err := s.readVarint()
	if err != nil {
		return false, err
	}
	if !known {
		return true, s.discard(size)
	}
	if number == fieldDocuments {
		return true, s.readDocument(size)
	}
	part, err := s.readBytes(size)
	if err != nil {
		return false, err
	}
	return true, s.visitPart(number, part)
}

func (s *stream) visitPart(number protowire.Number, part []byte) error {
	if number == fieldMetadata {
		if s.begun {
			return invalidf("it has metadata twice: want one index")
		}
		s.begun = true
		m, err := decodeMetadata(part)
		if err != nil {
			return err
		}
		s.encoding = defaultEncoding(m.Tool)
		return s.visitor.VisitMetadata(&m)
	}
	if !s.begun {
		return errNoMetadata
	}
	i, err := decodeInformation(part)
	if err != nil {
		return err
	}
	return s.visitor.VisitExternal(&i)
}

var errNoMetadata = invalidf("it does not begin with metadata: want the file that an indexer wrote, such as index.scip")

// readDocument decodes a document field by field. It does not keep the fields.
func (s *stream) readDocument(size uint64) error {
	if !s.begun {
		return errNoMetadata
	}
	if size > uint64(s.limits.MaxDocumentBytes) {
		return tooLargef("a document has %d bytes, at most %d; exclude the file from the index", size, s.limits.MaxDocumentBytes)
	}
	if s.documents++; s.documents > s.limits.MaxDocuments {
		return tooLargef("more than %d documents; index parts of the repository, and upload each with its path", s.limits.MaxDocuments)
	}
	d := documentDecoder{limits: s.limits, numbers: map[string]uint32{}, out: Document{Encoding: s.encoding}}
	f := fieldReader{s, size}
	for f.left > 0 {
		if err := f.readField(&d); err != nil {
			if isReadError(err) {
				return err
			}
			return fmt.Errorf("document %d: %w", s.documents, err)
		}
	}
	if d.out.Path == "" {
		return fmt.Errorf("document %d: %w", s.documents, invalidf("it has no path"))
	}
	d.numbers = nil
	return s.visitor.VisitDocument(&d.out)
}

// fieldReader reads the fields of a message from a stream.
type fieldReader struct {
	stream *stream
	left   uint64
}

var errDamagedField = invalidf("a message has a damaged field")

// ReadByte implements io.ByteReader.
func (f *fieldReader) ReadByte() (byte, error) {
	if f.left == 0 {
		return 0, errDamagedField
	}
	b, err := f.stream.r.ReadByte()
	if err == nil {
		f.left--
	}
	return b, err
}

func (f *fieldReader) readField(d *documentDecoder) error {
	tag, err := readVarint(f)
	if err != nil {
		return err
	}
	if tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		return errDamagedField
	}
	number, size := protowire.Number(tag>>3), uint64(0)
	switch kind := protowire.Type(tag & 7); kind {
	case protowire.VarintType:
		n, err := readVarint(f)
		if err != nil {
			return err
		}
		return d.decodeField(number, nil, n)
	case protowire.Fixed32Type:
		return f.discard(number, 4)
	case protowire.Fixed64Type:
		return f.discard(number, 8)
	case protowire.BytesType:
		if size, err = readVarint(f); err != nil {
			return err
		}
	default:
		return invalidf("field %d has type %d", number, kind)
	}
	if !isNeeded(number) {
		return f.discard(number, size)
	}
	if size > f.left {
		return invalidf("field %d is truncated", number)
	}
	f.left -= size
	field, err := f.stream.readBytes(size)
	if err != nil {
		return err
	}
	return d.decodeField(number, field, 0)
}

func (f *fieldReader) discard(number protowire.Number, size uint64) error {
	if size > f.left {
		return invalidf("field %d is truncated", number)
	}
	f.left -= size
	_, err := f.stream.r.Discard(int(size))
	return truncation(err)
}

func (s *stream) readVarint() (uint64, error) { return readVarint(s.r) }

func readVarint(r io.ByteReader) (uint64, error) {
	n, err := binary.ReadUvarint(r)
	switch {
	case err == nil || errors.Is(err, errDamagedField):
		return n, err
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return 0, invalidf("it is truncated")
	case isReadError(err):
		return 0, fmt.Errorf("read the index: %w", err)
	}
	return 0, invalidf("a number of it does not end")
}

// readBytes returns the next bytes, which are valid until the next call. It allocates for
// the bytes that arrive, not for the size that the index claims.
func (s *stream) readBytes(size uint64) ([]byte, error) {
	if size > uint64(min(s.limits.MaxDocumentBytes, maxFieldBytes)) {
		return nil, tooLargef("a symbol or an occurrence has %d bytes, at most %d; exclude its file from the index", size, min(s.limits.MaxDocumentBytes, maxFieldBytes))
	}
	s.buffer.Reset()
	if _, err := io.CopyN(&s.buffer, s.r, int64(size)); err != nil {
		return nil, truncation(err)
	}
	return s.buffer.Bytes(), nil
}

func (s *stream) discard(size uint64) error {
	if size > uint64(s.limits.MaxBytes) {
		return tooLargef("a part has %d bytes, at most %d, the bound scip.maxUploadBytes", size, s.limits.MaxBytes)
	}
	_, err := io.CopyN(io.Discard, s.r, int64(size))
	return truncation(err)
}

func truncation(err error) error {
	switch {
	case err == nil:
		return nil
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return invalidf("it is truncated")
	}
	return fmt.Errorf("read the index: %w", err)
}

// boundedReader fails with ErrTooLarge instead of reading more than max bytes. It wraps
// errors in readError.
type boundedReader struct {
	r         io.Reader
	left, max int64
}

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		if n, err := b.r.Read(one[:]); n == 0 && err != nil {
			return 0, markReadError(err)
		}
		return 0, markReadError(tooLargef("more than %d bytes, the bound scip.maxUploadBytes", b.max))
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, markReadError(err)
}

// readError marks an error of the reader, as opposed to one in the bytes.
type readError struct{ error }

// Unwrap returns the error of the reader.
func (e readError) Unwrap() error { return e.error }

func markReadError(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return readError{err}
}

func isReadError(err error) bool {
	_, ok := errors.AsType[readError](err)
	return ok
}
