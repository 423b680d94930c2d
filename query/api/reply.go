package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/quarrysearch/quarry/query/api/internal/jsonout"
)

// handler computes the reply to a request; the front writes it.
type handler func(r *http.Request) (*reply, error)

// streamHandler writes the response to a request itself. If it returns an error before
// that, the front responds.
type streamHandler func(w http.ResponseWriter, r *http.Request) error

// reply is a response before it is written.
type reply struct {
	status int
	header http.Header
	// body is encoded as JSON, unless it is a streamer or raw bytes.
	body any
	// release is called once the body has been written.
	release func()
}

// streamer writes a body in parts if one buffer for all of it would be too large.
type streamer interface {
	writeJSON(out *jsonout.Writer) error
}

// Status implements front.Answer.
func (p *reply) Status() int { return p.status }

// Release implements front.Answer.
func (p *reply) Release() {
	if p.release != nil {
		p.release()
	}
}

func okReply(body any) *reply { return &reply{status: http.StatusOK, body: body} }

func acceptedReply(body any) *reply { return &reply{status: http.StatusAccepted, body: body} }

const contentTypeJSON = "application/json"

// Write implements front.Answer. An error means that the client disconnected or that an
// encoder failed after the status was sent, when it can no longer be reported to the
// client.
func (p *reply) Write(w http.ResponseWriter) error {
	h := w.Header()
	for name, values := range p.header {
		h[name] = values
	}
	if p.status == http.StatusNoContent || p.status == http.StatusNotModified {
		w.WriteHeader(p.status)
		return nil
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", contentTypeJSON)
	}
	body, isBytes := p.body.([]byte)
	if streamed, ok := p.body.(streamer); ok {
		return streamBody(w, p.status, streamed)
	} else if !isBytes {
		body = mustEncode(p.body)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	_, err := w.Write(body)
	return err
}

// streamBody writes a body in parts; a body that fits into the buffer is written in one
// piece with its length.
func streamBody(w http.ResponseWriter, status int, body streamer) error {
	out := jsonout.New(&statusFirst{w, status, false})
	defer out.Free()
	if err := body.writeJSON(out); err != nil && out.Err() == nil {
		panic(fmt.Sprintf("api: encode %T: %v", body, err)) // only our own structs are written
	}
	if size, whole := out.Whole(); whole {
		w.Header().Set("Content-Length", strconv.Itoa(size))
	}
	return out.Flush()
}

// statusFirst sends the status before the first byte, so that a body that panics before
// that can still get an error response.
type statusFirst struct {
	http.ResponseWriter
	status int
	sent   bool
}

// Write implements io.Writer.
func (s *statusFirst) Write(b []byte) (int, error) {
	if !s.sent {
		s.sent = true
		s.WriteHeader(s.status)
	}
	return s.ResponseWriter.Write(b)
}

// mustEncode returns v, one of our own structs, as JSON.
func mustEncode(v any) []byte {
	b, err := encode(v)
	if err != nil {
		panic(fmt.Sprintf("api: encode %T: %v", v, err))
	}
	return b
}

// encode returns v as JSON without HTML escapes, which our clients do not need and which
// make code hard to read.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
