package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Streamed is one answer in parts.
type Streamed struct {
	// First is until the first frame with files was read; Whole until the end.
	First, Whole time.Duration
	// Chunks counts the frames with files.
	Chunks int
}

// ErrStream is returned for a stream that does not end as it should, or brings no files.
var ErrStream = errors.New("stream was cut off")

// Stream requests an answer in parts. zoekt streams by gRPC alone, which nothing here uses.
func (s *QuarryServer) Stream(ctx context.Context, q Request) (Streamed, error) {
	body, err := json.Marshal(quarrySearch{Query: q.Text, Matches: q.Limit, Regex: true})
	if err != nil {
		return Streamed{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/stream_search", bytes.NewReader(body))
	if err != nil {
		return Streamed{}, err
	}
	req.Header = jsonHeader()
	start := time.Now()
	resp, err := s.client.Do(req)
	if err != nil {
		return Streamed{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Streamed{}, fmt.Errorf("stream %s: %w %d", q.Text, ErrStatus, resp.StatusCode)
	}
	return readStream(bufio.NewReader(resp.Body), start)
}

// filesMember is in a frame that brings matches, and in no other.
var filesMember = []byte(`"files":[{`)

// readStream looks at frames only as far as it must, so that decoding does not count.
func readStream(r *bufio.Reader, start time.Time) (Streamed, error) {
	var s Streamed
	for n := 0; n <= maxResponseBytes; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return s, fmt.Errorf("%w: %v", ErrStream, err)
		}
		n += len(line)
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
		switch {
		case !ok:
		case bytes.Equal(data, []byte("[DONE]")):
			s.Whole = time.Since(start)
			if s.Chunks == 0 {
				return s, fmt.Errorf("%w: no files", ErrStream)
			}
			return s, nil
		case bytes.Contains(data, filesMember):
			if s.Chunks++; s.Chunks == 1 {
				s.First = time.Since(start)
			}
		}
	}
	return s, fmt.Errorf("%w: more than %d bytes", ErrStream, maxResponseBytes)
}
