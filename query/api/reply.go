package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// handler computes the reply to a request; the wrapper writes it.
type handler func(r *http.Request) (*reply, error)

// streamHandler writes the answer to a request by itself; what it returns before
// that is answered by the wrapper.
type streamHandler func(w http.ResponseWriter, r *http.Request) error

// reply is an answer before it is written.
type reply struct {
	status int
	header http.Header
	// body is encoded as JSON, unless it is a streamer or raw bytes.
	body any
	// release is called once the body has been written.
	release func()
}

// streamer writes a body in parts, where one buffer for all of it would be
// large.
type streamer interface {
	writeJSON(w io.Writer) error
}

func ok(body any) *reply { return &reply{status: http.StatusOK, body: body} }

func accepted(body any) *reply { return &reply{status: http.StatusAccepted, body: body} }

const contentTypeJSON = "application/json"

// write sends p. An error means that the client is gone or an encoder failed
// after the status was sent: there is nobody left to tell.
func (p *reply) write(w http.ResponseWriter) error {
	h := w.Header()
	for name, values := range p.header {
		h[name] = values
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", contentTypeJSON)
	}
	switch body := p.body.(type) {
	case []byte:
		w.WriteHeader(p.status)
		_, err := w.Write(body)
		return err
	case streamer:
		w.WriteHeader(p.status)
		return stream(w, body)
	}
	b, err := encode(p.body)
	if err != nil {
		// Only our own structs are written.
		panic(fmt.Sprintf("api: encode %T: %v", p.body, err))
	}
	w.WriteHeader(p.status)
	_, err = w.Write(b)
	return err
}

// streamBytes is the buffer between an encoder and the connection.
const streamBytes = 64 << 10

func stream(w io.Writer, body streamer) error {
	out := bufio.NewWriterSize(w, streamBytes)
	if err := body.writeJSON(out); err != nil {
		return err
	}
	return out.Flush()
}

// encode returns v as JSON without escapes for HTML, which no reader of ours
// needs and which makes code hard to read.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// jsonTime writes a time as the API does: UTC, milliseconds.
type jsonTime time.Time

// MarshalJSON implements json.Marshaler.
func (t jsonTime) MarshalJSON() ([]byte, error) {
	return []byte(time.Time(t).UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}

// optionalTime returns nil for the zero time.
func optionalTime(t time.Time) *jsonTime {
	if t.IsZero() {
		return nil
	}
	out := jsonTime(t)
	return &out
}
