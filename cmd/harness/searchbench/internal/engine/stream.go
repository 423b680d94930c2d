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

// Streamed describes one streamed answer.
type Streamed struct {
	// First is the time until the first frame with files was read, Whole the time until
	// the end.
	First, Whole time.Duration
	// Chunks counts the frames with files.
	Chunks int
}

// ErrStream is returned for a stream that does not end properly, or contains no files.
var ErrStream = errors.New("stream was cut off")

// Stream requests a streamed answer. zoekt streams only over gRPC, which this package
// does not use.
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

// filesMember occurs only in a frame with matches.
var filesMember = []byte(`"files":[{`)

// readStream parses frames only as far as necessary, so that decoding does not count.
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
