package jsonout

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"
)

// PieceBytes is the size from which on buffered output is written: nearly every response
// fits, and is then sent with a length in one system call.
const PieceBytes = 256 << 10

// sliceBytes of a text are escaped between checks of the buffer; each byte may become
// six.
const (
	sliceBytes = 16 << 10
	maxGrowth  = 6 * sliceBytes
)

// A Writer writes JSON to an io.Writer in few pieces.
type Writer struct {
	w    io.Writer
	b    []byte
	sent bool
	err  error
}

// writers are unused Writers; the garbage collector may free them.
var writers = sync.Pool{New: func() any { return &Writer{b: make([]byte, 0, 32<<10)} }}

// New returns a Writer to w. Free releases its buffer for reuse.
func New(w io.Writer) *Writer {
	o := writers.Get().(*Writer)
	o.w, o.b, o.sent, o.err = w, o.b[:0], false, nil
	return o
}

// Free releases o. Output that was not flushed is lost.
func (o *Writer) Free() {
	if o.w = nil; cap(o.b) <= 2*(PieceBytes+maxGrowth) {
		writers.Put(o)
	}
}

// Flush writes the buffered output and returns the first error.
func (o *Writer) Flush() error {
	if len(o.b) > 0 && o.err == nil {
		o.sent = true
		_, o.err = o.w.Write(o.b)
	}
	o.b = o.b[:0]
	return o.err
}

// Err returns the first write error.
func (o *Writer) Err() error { return o.err }

// Whole returns the size of the output, and false if part of it has already been written.
func (o *Writer) Whole() (int, bool) { return len(o.b), !o.sent }

// flushIfFull flushes the buffer if it is full.
func (o *Writer) flushIfFull() {
	if len(o.b) >= PieceBytes {
		_ = o.Flush() // kept in err
	}
}

// Raw appends JSON as it is.
func (o *Writer) Raw(s string) {
	o.b = append(o.b, s...)
	o.flushIfFull()
}

// String appends a string.
func (o *Writer) String(s string) {
	o.b = AppendString(o.b, s)
	o.flushIfFull()
}

// Text appends a text of any size as a string.
func (o *Writer) Text(s []byte) {
	o.b = append(o.b, '"')
	for len(s) > sliceBytes {
		n := cutBoundary(s, sliceBytes)
		o.b = appendText(o.b, s[:n])
		o.flushIfFull()
		s = s[n:]
	}
	o.b = append(appendText(o.b, s), '"')
	o.flushIfFull()
}

// cutBoundary returns n or a little less, so that no character of s is split.
func cutBoundary(s []byte, n int) int {
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return n // not UTF-8: each byte is written separately
}

// Uint appends a number.
func (o *Writer) Uint(n uint64) { o.b = strconv.AppendUint(o.b, n, 10) }

// Append lets f append JSON to the buffer, at most some kilobytes.
func (o *Writer) Append(f func(b []byte) []byte) {
	o.b = f(o.b)
	o.flushIfFull()
}

// Members appends the members of the object that encoding/json produces for v, each after
// a comma, and returns its error. It buffers them completely.
func (o *Writer) Members(v any) error {
	at := len(o.b)
	e := json.NewEncoder((*sink)(o))
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	if o.b = bytes.TrimSuffix(o.b, []byte("}\n")); len(o.b) == at+1 {
		o.b = o.b[:at] // the object has no members
		return nil
	}
	o.b[at] = ','
	o.flushIfFull()
	return nil
}

// sink is the writer of Members' encoder.
type sink Writer

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}
