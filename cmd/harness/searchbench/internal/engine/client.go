package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"time"
)

// Answer is the response of a program to one query.
type Answer struct {
	Elapsed time.Duration
	Matches int
	Files   int
	// FilesRead is the number of files whose text was read, as the program reports it.
	FilesRead int
	// Incomplete is the reason why the answer lacks matches. It is empty if the answer is
	// complete, or if the program does not report it.
	Incomplete string
	// List is a hash of the returned places, in order. It is zero unless it was
	// requested.
	List uint64
}

// Searcher answers queries. It must be safe for concurrent use.
type Searcher interface {
	Search(ctx context.Context, q Request) (Answer, error)
}

// Request is a query in the syntax of the program.
type Request struct {
	Text string
	// Limit is the largest number of matches; 0 means the exact number of all.
	Limit int
	// List requests Answer.List.
	List bool
	// Repositories requests repositories instead of matches (GET /api/repos of Quarry).
	Repositories bool
	// Brief requests an answer of Quarry without suggestions and related files.
	Brief bool
}

const (
	// maxResponseBytes bounds one response; ten thousand matches with their lines are about 5 MB.
	maxResponseBytes = 512 << 20
	// queryTimeout bounds one query.
	queryTimeout = 3 * time.Minute
	// readyPoll is the interval at which a starting server is polled.
	readyPoll = 20 * time.Millisecond
)

// ErrStatus is returned for a response that is not 2xx.
var ErrStatus = errors.New("unexpected HTTP status")

// newHTTPClient returns a client that keeps one connection per concurrent request.
func newHTTPClient() *http.Client {
	return &http.Client{Timeout: queryTimeout, Transport: &http.Transport{MaxIdleConns: 64, MaxIdleConnsPerHost: 64, DisableCompression: true}}
}

// roundTrip sends one request and reads the whole response.
func roundTrip(ctx context.Context, client *http.Client, method, url string, header http.Header, body []byte) ([]byte, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header = header
	start := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes+1))
	elapsed := time.Since(start)
	switch {
	case err != nil:
		return nil, elapsed, fmt.Errorf("%s %s: read response: %w", method, url, err)
	case len(data) > maxResponseBytes:
		return nil, elapsed, fmt.Errorf("%s %s: response is larger than %d bytes", method, url, maxResponseBytes)
	case resp.StatusCode/100 != 2:
		return nil, elapsed, fmt.Errorf("%s %s: %w %d: %.300s", method, url, ErrStatus, resp.StatusCode, data)
	}
	return data, elapsed, nil
}

// fetchJSON sends a request, as JSON unless it is nil, and decodes the response, which is
// not a part of the time.
func fetchJSON(ctx context.Context, client *http.Client, method, url string, request, reply any) (time.Duration, error) {
	var body []byte
	if request != nil {
		var err error
		if body, err = json.Marshal(request); err != nil {
			return 0, err
		}
	}
	data, elapsed, err := roundTrip(ctx, client, method, url, jsonHeader(), body)
	if err != nil {
		return elapsed, err
	}
	if err := json.Unmarshal(data, reply); err != nil {
		return elapsed, fmt.Errorf("%s %s: decode the response to %.200s: %w", method, url, body, err)
	}
	return elapsed, nil
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// waitReady polls until ready returns true, the program ends or ctx does.
func waitReady(ctx context.Context, ended <-chan struct{}, ready func(context.Context) bool) error {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		if ready(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errors.New("the program ended before it was ready")
		case <-ticker.C:
		}
	}
}

// A listedFile is a file of an answer with the offsets of its matches.
type listedFile struct {
	repository, path string
	offsets          []int
}

// hashList returns a hash of a list of places, which is never zero.
func hashList(places []listedFile) uint64 {
	h := fnv.New64a()
	for _, p := range places {
		fmt.Fprintf(h, "%q %q %v\n", p.repository, p.path, p.offsets)
	}
	return max(h.Sum64(), 1)
}
