package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/api/internal/contract"
)

// decodeBody checks the JSON object of a request against the document and decodes it into
// v. Types are strict and unknown fields are ignored, as in the established interface.
func (s *Server) decodeBody(r *http.Request, v any) error {
	b, err := s.readBody(r)
	if err != nil {
		return err
	}
	if err := formOf(r).operation.Body(b, v); err != nil {
		return fmt.Errorf("%w: %w", errBody, err)
	}
	return nil
}

func (s *Server) readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > s.o.MaxBodyBytes {
		// Refuse it before megabytes are read and copied.
		return nil, fmt.Errorf("%w: at most %d bytes", errBodyTooBig, s.o.MaxBodyBytes)
	}
	// Package front bounds the size and the time.
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, s.bodyError(err)
	}
	return bytes.TrimPrefix(b, []byte("\ufeff")), nil // a byte order mark, which some editors and shells write
}

// bodyError returns the error for a body that cannot be read.
func (s *Server) bodyError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fmt.Errorf("%w: at most %d bytes", errBodyTooBig, s.o.MaxBodyBytes)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: want it within %s", errBodySlow, s.o.ReadTimeout)
	}
	return fmt.Errorf("%w: %w", errBody, err)
}

// params reads the query parameters of a request, which were checked against the
// document. The first of several with one name counts; unknown ones are ignored. It keeps
// the first error that the document cannot express.
type params struct {
	operation *contract.Operation
	values    url.Values
	err       error
}

func queryParams(r *http.Request) *params {
	f := formOf(r)
	return &params{operation: f.operation, values: f.values}
}

func (p *params) addErrorf(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s", errParams, fmt.Sprintf(format, args...))
	}
}

// intParam returns an integer: if it is absent, the document's default or 0.
func (p *params) intParam(name string) int {
	n, _ := strconv.Atoi(p.wordParam(name)) // already checked
	return n
}

// wordParam returns a word, or the document's default.
func (p *params) wordParam(name string) string {
	if p.values.Has(name) {
		return p.values.Get(name)
	}
	return p.operation.Fallback(name)
}

// boolParam reports whether a parameter is true.
func (p *params) boolParam(name string) bool { return p.wordParam(name) == "true" }

// timeParam returns an RFC 3339 time, or the zero time if it is absent.
func (p *params) timeParam(name string) time.Time {
	t, _ := time.Parse(time.RFC3339, p.values.Get(name)) // already checked
	return t
}

// textParam returns a string of at most max bytes. The document cannot express this
// bound: its limits are in characters.
func (p *params) textParam(name string, max int) string {
	v := p.values.Get(name)
	if len(v) > max || !utf8.ValidString(v) {
		p.addErrorf("%s: want text of at most %d bytes", name, max)
		return ""
	}
	return v
}
