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

// ReadIndex decodes an index from r part by part, with one document in memory at a time.
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
		return invalidf("it does not begin with metadata: want the file that an indexer wrote, such as index.scip")
	}
	if number == fieldExternals {
		i, err := decodeInformation(part)
		if err != nil {
			return err
		}
		return s.visitor.VisitExternal(&i)
	}
	if s.documents++; s.documents > s.limits.MaxDocuments {
		return tooLargef("more than %d documents", s.limits.MaxDocuments)
	}
	d, err := decodeDocument(part, s.encoding, s.limits.MaxOccurrences)
	if err != nil {
		return fmt.Errorf("document %d: %w", s.documents, err)
	}
	return s.visitor.VisitDocument(d)
}

func (s *stream) readVarint() (uint64, error) {
	n, err := binary.ReadUvarint(s.r)
	switch {
	case err == nil:
		return n, nil
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
	if size > uint64(s.limits.MaxDocumentBytes) {
		return nil, tooLargef("a part has %d bytes, at most %d", size, s.limits.MaxDocumentBytes)
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
