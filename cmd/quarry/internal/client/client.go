package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxAnswerBytes bounds an answer that is read whole.
const maxAnswerBytes = 1 << 30

// Error is an answer that reports a failure.
type Error struct {
	StatusCode int    `json:"statusCode"`
	ErrorCode  string `json:"errorCode"`
	Message    string `json:"message"`
}

// Error returns what the server said.
func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the server answered %d %s", e.StatusCode, http.StatusText(e.StatusCode))
	}
	return e.Message
}

// needsCredential says what a command can do about a 401.
const needsCredential = "give an API key with --api-key or QUARRY_API_KEY or, on the server's machine, its data directory with --data or QUARRY_DATA"

// Client asks one server.
type Client struct {
	base *url.URL
	http *http.Client
}

// New returns a client of the server at base, such as http://127.0.0.1:7070.
func New(base string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("server %q: want a URL such as http://127.0.0.1:7070", base)
	}
	return &Client{base: u, http: &http.Client{}}, nil
}

// Use has t send the requests, with the credential of who asks.
func (c *Client) Use(t http.RoundTripper) { c.http.Transport = t }

// Raw sends a request and returns the body of the answer. The caller closes
// it. in is sent as JSON; nil sends none.
func (c *Client) Raw(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	target := strings.TrimSuffix(c.base.String(), "/") + path
	request, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if response.StatusCode/100 != 2 {
		defer func() { _ = response.Body.Close() }()
		return nil, decodeError(response)
	}
	return response.Body, nil
}

// unreachable turns what the transport says into what the reader can do.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return fmt.Errorf("no server answers at %s: %w; start one with quarry serve, or name it with --server", c.base, err)
}

func decodeError(response *http.Response) error {
	e := &Error{StatusCode: response.StatusCode}
	b, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	_ = json.Unmarshal(b, e) // what is no error object leaves the status, which says enough
	e.StatusCode = response.StatusCode
	if e.StatusCode == http.StatusUnauthorized {
		e.Message = strings.TrimPrefix(e.Message+"; "+needsCredential, "; ")
	}
	return e
}

// call sends a request and decodes the answer into out.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	body, err := c.Raw(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if err := json.NewDecoder(io.LimitReader(body, maxAnswerBytes)).Decode(out); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	return nil
}
