package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// frameError is the type of the frame that ends a stream with an error.
const frameError = "error"

// receiveFrames iterates over the frames of a stream. An error frame ends it with an
// error.
func receiveFrames[T any](ctx context.Context, c *Client, r request) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		response, err := c.sendWithRetries(ctx, r)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = response.Body.Close() }()
		lines := bufio.NewScanner(io.LimitReader(response.Body, MaxAnswerBytes))
		lines.Buffer(nil, MaxFrameBytes)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !ok {
				continue // a heartbeat, or the end of a frame
			}
			if string(data) == "[DONE]" {
				return
			}
			frame, err := decodeFrame[T](response, data)
			if !yield(frame, err) || err != nil {
				return
			}
		}
		err = cmp.Or(ctx.Err(), lines.Err(), errCutOff)
		yield(nil, fmt.Errorf("%s %s: read the answer of %s: %w", r.method, r.path, c.base, err))
	}
}

// decodeFrame decodes a frame.
func decodeFrame[T any](response *http.Response, data []byte) (*T, error) {
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("read a part of the answer: %w", err)
	}
	if !bytes.Contains(data, []byte(`"type":"`+frameError+`"`)) {
		return out, nil
	}
	var failed struct {
		Type  string     `json:"type"`
		Error wire.Error `json:"error"`
	}
	if err := json.Unmarshal(data, &failed); err != nil || failed.Type != frameError {
		return out, err
	}
	return nil, toError(&failed.Error, response)
}

// Collect runs a search in parts. It calls each with the files of a part, and returns the
// final frame, which holds statistics and notices, with the repositories of all parts. An
// error of each ends the search and is returned.
func (c *Client) Collect(ctx context.Context, r wire.SearchRequest, each func([]wire.SearchFile) error) (*wire.SearchResult, error) {
	out := new(wire.SearchResult)
	for f, err := range c.StreamSearch(ctx, r) {
		if err != nil {
			return nil, err
		}
		switch f.Type {
		case wire.StreamFrameTypeChunk:
			out.RepositoryInfo = append(out.RepositoryInfo, f.RepositoryInfo...)
			if err := each(f.Files); err != nil {
				return nil, err
			}
		case wire.StreamFrameTypeFinal:
			out.Stats, out.Notices = f.AccumulatedStats, f.Notices
			out.IsSearchExhaustive = f.IsSearchExhaustive != nil && *f.IsSearchExhaustive
			out.IncompleteReason, out.Related, out.Explain = f.IncompleteReason, f.Related, f.Explain
		}
	}
	return out, nil
}
