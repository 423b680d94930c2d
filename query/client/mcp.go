package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// MaxMessageBytes bounds a response of /api/mcp, whose texts are bounded.
const MaxMessageBytes = 8 << 20

// Later is a temporary failure: the server cannot be reached, or requests a pause.
type Later struct {
	Err   error
	After time.Duration
}

// Error implements error.
func (l *Later) Error() string { return l.Err.Error() }

// Unwrap returns the cause.
func (l *Later) Unwrap() error { return l.Err }

// Message posts a message of the Model Context Protocol, once, and returns the response,
// which is empty for a notification. A JSON-RPC error is a response, too; the error is a
// *Later if a retry may succeed.
func (c *Client) Message(ctx context.Context, message []byte, header http.Header) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.String()+"/api/mcp", bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	request.Header = header
	c.setCredential(request)
	request.Header.Set("Content-Type", contentTypeJSON)
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, &Later{Err: c.noAnswerError(ctx, err)}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxMessageBytes+1))
	switch {
	case err != nil:
		return nil, &Later{Err: fmt.Errorf("read the answer of %s: %w", c.base, err)}
	case len(body) > MaxMessageBytes:
		return nil, fmt.Errorf("the response of %s exceeds %d bytes", c.base, MaxMessageBytes)
	case response.StatusCode/100 == 2 || isMessage(body):
		return body, nil
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	failure := newError(response)
	if failure.StatusCode == http.StatusServiceUnavailable || failure.StatusCode == http.StatusTooManyRequests {
		return nil, &Later{failure, failure.RetryAfter}
	}
	return nil, failure
}

// isMessage reports whether a body is a JSON-RPC message.
func isMessage(body []byte) bool {
	var m struct {
		Version string `json:"jsonrpc"`
	}
	return json.Unmarshal(body, &m) == nil && m.Version != ""
}
