package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// Bounds of requests.
const (
	// MaxRequestBytes bounds a request.
	MaxRequestBytes = 1 << 20
	// maxBatch bounds the messages in one request, which revisions before 2025-06-18
	// allow.
	maxBatch = 16
	// maxID bounds a number that identifies a message: clients read numbers with 53 bits.
	maxID = 1 << 53
)

// Errors of requests, reported as HTTP status.
var (
	// ErrRequestTooLarge is returned for a body of more than MaxRequestBytes.
	ErrRequestTooLarge = fmt.Errorf("request body is too large: at most %d bytes", MaxRequestBytes)
	// ErrBody is wrapped by the error of a body that cannot be read.
	ErrBody = errors.New("read the request")
	// ErrNotAcceptable is returned to a client that does not accept JSON.
	ErrNotAcceptable = errors.New("the answer is JSON; send Accept: application/json, text/event-stream")
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	// maxVersion bounds the characters of versionHeader, which the library does not read
	// with a notification.
	maxVersion = 32
)

// Response is the answer to a request.
type Response struct {
	Status int
	Header http.Header
	// Body is JSON, or empty.
	Body []byte
}

// newTransport returns the library's transport. query/api has already checked hosts and
// origins for all routes; the library's own check would refuse every request that a
// reverse proxy on this machine forwards.
func newTransport(server *sdk.Server, logger *slog.Logger) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: logger, DisableLocalhostProtection: true,
		PropagateRequestCancellation: true, MaxRequestBodyBytes: -1, // the body is read earlier
	})
}

// requestKey is the context key under which a call finds the context of its request.
type requestKey struct{}

// Post answers messages of a client; the context of r carries its principal. The caller
// must report an error, such as ErrSessionUnknown, as HTTP status. All other failures are
// part of the JSON-RPC response.
func (s *Server) Post(r *http.Request) (*Response, error) {
	if err := setAcceptHeaders(r); err != nil {
		return nil, err
	}
	p := auth.From(r.Context())
	if id := r.Header.Get(sessionHeader); id != "" {
		if err := s.sessions.checkSession(id, p); err != nil {
			return nil, err
		}
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	in, wrong := inspectBody(body)
	if wrong == nil && utf8.RuneCountInString(r.Header.Get(versionHeader)) > maxVersion {
		wrong = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("the header %s has more than %d characters", versionHeader, maxVersion)}
	}
	if wrong != nil {
		return rpcError(http.StatusBadRequest, nil, wrong), nil
	}
	w := &recorder{header: http.Header{}}
	inner := r.Clone(context.WithValue(r.Context(), requestKey{}, r.Context()))
	inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	s.transport.ServeHTTP(w, inner)
	out := w.buildResponse(in.id)
	if in.initialize && out.Status == http.StatusOK {
		out.Header.Set(sessionHeader, s.sessions.newSession(p))
		return out, s.recordSession(r.Context(), in)
	}
	return out, nil
}

// Delete ends the session that r names.
func (s *Server) Delete(r *http.Request) error {
	id := r.Header.Get(sessionHeader)
	if err := s.sessions.checkSession(id, auth.From(r.Context())); err != nil {
		return err
	}
	s.sessions.endSession(id)
	return nil
}

// setAcceptHeaders sets the headers that the library requires: that the client also
// accepts streams, which the library does not create, and that the body is JSON.
func setAcceptHeaders(r *http.Request) error {
	given := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	if given != "" && !strings.Contains(given, "*/*") && !strings.Contains(given, "application/json") && !strings.Contains(given, "application/*") {
		return ErrNotAcceptable
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	// query/api checks the Content-Type of requests; the body is JSON.
	r.Header.Set("Content-Type", "application/json")
	return nil
}

func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxRequestBytes+1))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || len(body) > MaxRequestBytes {
		return nil, ErrRequestTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBody, err)
	}
	return bytes.TrimPrefix(body, []byte("\ufeff")), nil // a byte order mark, which some editors and shells write
}

// requestInfo is the information about a request that is needed before it is handled.
type requestInfo struct {
	id         json.RawMessage // nil for a batch and for notifications
	initialize bool
	client     string
}

// message is the part of a JSON-RPC message that this package reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// inspectBody extracts the requestInfo of a body.
func inspectBody(body []byte) (requestInfo, *jsonrpc.Error) {
	if !json.Valid(body) {
		return requestInfo{}, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "not valid JSON"}
	}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); trimmed[0] == '[' {
		var batch []json.RawMessage
		if err := json.Unmarshal(body, &batch); err != nil || len(batch) == 0 || len(batch) > maxBatch {
			return requestInfo{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("want 1 to %d messages at once", maxBatch)}
		}
		return requestInfo{}, nil
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return requestInfo{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "want a JSON-RPC message"}
	}
	// The library would answer with the number's integer part, which the client did not send.
	var id float64
	if err := json.Unmarshal(m.ID, &id); err == nil && (id != math.Trunc(id) || math.Abs(id) > maxID) {
		return requestInfo{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the id of a message is a string or an integer of at most 53 bits"}
	}
	in := requestInfo{id: m.ID, initialize: m.Method == "initialize"}
	var params struct {
		Client struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"clientInfo"`
	}
	if in.initialize && json.Unmarshal(m.Params, &params) == nil {
		in.client = strings.TrimSpace(params.Client.Name + " " + params.Client.Version)
	}
	return in, nil
}

// recordSession records the start of a session in the audit log.
func (s *Server) recordSession(ctx context.Context, in requestInfo) error {
	rec := audit.Record{At: s.o.Now().UTC(), Action: audit.StartedMCPSession, Actor: auth.From(ctx).Actor, TargetType: audit.TargetInstance}
	if in.client != "" {
		rec.Metadata = map[string]string{"client": cutText(in.client, audit.MaxMetadataBytes)}
	}
	return s.o.Note(ctx, rec)
}

// errorBody is a JSON-RPC error and, with an error status, also an error object of the
// API.
type errorBody struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *jsonrpc.Error  `json:"error"`
	Status  int             `json:"statusCode,omitempty"`
	Code    string          `json:"errorCode,omitempty"`
	Message string          `json:"message,omitempty"`
}

func rpcError(status int, id json.RawMessage, e *jsonrpc.Error) *Response {
	if id == nil {
		id = json.RawMessage("null")
	}
	f := errorBody{Version: "2.0", ID: id, Error: e}
	if status >= http.StatusBadRequest {
		f.Status, f.Code, f.Message = status, "INVALID_REQUEST_BODY", e.Message
	}
	return &Response{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: encode(f)}
}

// recorder stores an answer. The answers of its calls bound its size.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements http.Flusher. It has no effect, because nothing is sent before the
// end.
func (w *recorder) Flush() {}

// buildResponse returns the recorded response. The library returns some errors as plain
// text.
func (w *recorder) buildResponse(id json.RawMessage) *Response {
	w.WriteHeader(http.StatusOK)
	body := bytes.TrimSpace(w.body.Bytes())
	if w.status >= http.StatusBadRequest {
		var f errorBody
		if json.Unmarshal(body, &f) == nil && f.Error != nil {
			return rpcError(w.status, f.ID, f.Error)
		}
		code := int64(jsonrpc.CodeInvalidRequest)
		if id != nil && bytes.HasSuffix(body, []byte(`" unsupported`)) {
			// The request was accepted; only its method does not exist.
			code, w.status = jsonrpc.CodeMethodNotFound, http.StatusOK
		}
		return rpcError(w.status, id, &jsonrpc.Error{Code: code, Message: string(body)})
	}
	w.header.Del("Cache-Control") // query/api sets it for all answers
	return &Response{Status: w.status, Header: w.header, Body: body}
}
