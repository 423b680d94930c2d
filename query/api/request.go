package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/schemas/code"
)

// decodeBody reads the JSON object of a request, checked by the document, into v.
// Types are strict, unknown fields are passed over, as the established interface
// does.
func (s *Server) decodeBody(r *http.Request, v any) error {
	b, err := s.readBody(r)
	if err != nil {
		return err
	}
	if err := exchangeOf(r).form.operation.Body(b, v); err != nil {
		return fmt.Errorf("%w: %w", errBody, err)
	}
	return nil
}

func (s *Server) readBody(r *http.Request) ([]byte, error) {
	// The middleware bounds the size and the time, see bounded.
	b, err := io.ReadAll(r.Body)
	if err == nil {
		return b, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fmt.Errorf("%w: at most %d bytes", errBodyTooBig, s.o.MaxBodyBytes)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%w: want it within %s", errBodySlow, s.o.ReadTimeout)
	}
	return nil, fmt.Errorf("%w: %w", errBody, err)
}

// params reads the query parameters of a request. The first of several of one
// name counts; unknown ones are passed over. It keeps the first error.
type params struct {
	values url.Values
	err    error
}

func queryParams(r *http.Request) *params {
	return &params{values: exchangeOf(r).form.values}
}

func (p *params) failf(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s", errParams, fmt.Sprintf(format, args...))
	}
}

// positive returns a whole number from 1 to max, or def if it is absent.
func (p *params) positive(name string, def, max int) int {
	if !p.values.Has(name) {
		return def
	}
	n, err := strconv.Atoi(p.values.Get(name))
	if err != nil || n < 1 || n > max {
		p.failf("%s: want a whole number of 1 to %d, have %.40q", name, max, p.values.Get(name))
		return def
	}
	return n
}

// oneOf returns one of the allowed words, or the first if it is absent.
func (p *params) oneOf(name string, allowed ...string) string {
	if !p.values.Has(name) {
		return allowed[0]
	}
	v := p.values.Get(name)
	for _, word := range allowed {
		if v == word {
			return v
		}
	}
	p.failf("%s: want one of %q, have %.40q", name, allowed, v)
	return allowed[0]
}

// time returns a time in the form of RFC 3339, or none if it is absent.
func (p *params) time(name string) time.Time {
	text := p.values.Get(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		p.failf("%s: want a time such as 2026-03-04T03:06:07Z, have %.40q", name, text)
	}
	return t
}

// text returns a string of at most max bytes.
func (p *params) text(name string, max int) string {
	v := p.values.Get(name)
	if len(v) > max || !utf8.ValidString(v) {
		p.failf("%s: want text of at most %d bytes", name, max)
		return ""
	}
	return v
}

// required returns a string of at most max bytes that has to be given; it may be
// empty.
func (p *params) required(name string, max int) string {
	if !p.values.Has(name) {
		p.failf("%s is required", name)
	}
	return p.text(name, max)
}

// repositoryID reads {repoId} of the path.
func repositoryID(r *http.Request) (code.RepositoryID, error) {
	text := mux.Vars(r)["repoId"]
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("%w: repoId: want a positive whole number, have %.40q", errPathParams, text)
	}
	return code.RepositoryID(id), nil
}
