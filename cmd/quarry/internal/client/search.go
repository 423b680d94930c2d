package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// SearchRequest is the body of POST /api/search.
type SearchRequest struct {
	Query         string `json:"query"`
	Matches       int    `json:"matches"`
	ContextLines  int    `json:"contextLines,omitempty"`
	Regex         bool   `json:"isRegexEnabled,omitempty"`
	CaseSensitive bool   `json:"isCaseSensitivityEnabled,omitempty"`
	Explain       bool   `json:"explain,omitempty"`
}

// SearchResponse is its answer, as far as it is printed.
type SearchResponse struct {
	Stats Stats  `json:"stats"`
	Files []File `json:"files"`
	// Repositories are those of the files, or, without files, those that a query
	// with type:repo found.
	Repositories []struct {
		Name string `json:"name"`
	} `json:"repositoryInfo"`
	Notices          []Notice `json:"notices"`
	Exhaustive       bool     `json:"isSearchExhaustive"`
	IncompleteReason string   `json:"incompleteReason"` // empty if Exhaustive
	Explain          *Explain `json:"explain"`
}

// Explain tells how a query was run.
type Explain struct {
	Query    string           `json:"query"`
	AsOf     string           `json:"asOf"` // empty for the present
	Atoms    []string         `json:"atoms"`
	Stages   map[string]int64 `json:"stages"` // microseconds, such as planMicros
	Segments []SegmentExplain `json:"segments"`
	Files    []FileExplain    `json:"files"`
	Stopped  string           `json:"stopped"`
}

// FileExplain tells how the score of a file came about.
type FileExplain struct {
	Repository string   `json:"repository"`
	Path       string   `json:"path"`
	Score      float64  `json:"score"`
	Reasons    []string `json:"reasons"`
}

// SegmentExplain tells what a segment cost.
type SegmentExplain struct {
	ID              string `json:"id"`
	Documents       int    `json:"documents"`
	CandidateBlocks []int  `json:"candidateBlocks"`
	FilesConsidered int    `json:"filesConsidered"`
	Matches         int    `json:"matches"`
	Lists           int    `json:"lists"`
	IndexBytes      int64  `json:"indexBytes"`
	ContentBytes    int64  `json:"contentBytes"`
	ScannedBytes    int64  `json:"scannedBytes"`
	Micros          int64  `json:"micros"`
}

// Stats are the counts of an answer that are printed.
type Stats struct {
	ActualMatchCount int `json:"actualMatchCount"`
}

// Notice tells how a part of the query was read.
type Notice struct {
	Message string `json:"message"`
}

// File is a file with matches.
type File struct {
	FileName struct {
		Text        string  `json:"text"`
		MatchRanges []Range `json:"matchRanges"`
	} `json:"fileName"`
	Repository string   `json:"repository"`
	Branches   []string `json:"branches"`
	Chunks     []Chunk  `json:"chunks"`
}

// Chunk is a run of whole lines with matches in them.
type Chunk struct {
	Content      string   `json:"content"`
	MatchRanges  []Range  `json:"matchRanges"`
	ContentStart Location `json:"contentStart"`
}

// Range is where a match begins and where it has ended.
type Range struct {
	Start Location `json:"start"`
	End   Location `json:"end"`
}

// Location is a place in a file: bytes from 0, lines and columns from 1.
type Location struct {
	ByteOffset int `json:"byteOffset"`
	LineNumber int `json:"lineNumber"`
	Column     int `json:"column"`
}

// maxFrameBytes bounds one frame of a stream.
const maxFrameBytes = 256 << 20

// errCutOff says that a stream had no end.
var errCutOff = errors.New("the answer ended in the middle")

// StreamSearch asks the server for an answer in parts: each is called with the
// files of one, and the answer, without files, is returned at the end.
func (c *Client) StreamSearch(ctx context.Context, r SearchRequest, each func([]File) error) (*SearchResponse, error) {
	body, err := c.Raw(ctx, http.MethodPost, "/api/stream_search", r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	out := new(SearchResponse)
	lines := bufio.NewScanner(io.LimitReader(body, maxAnswerBytes))
	lines.Buffer(nil, maxFrameBytes)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			return out, nil
		}
		if err := out.take(data, each); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(ctx.Err(), lines.Err(), errCutOff); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	return out, nil
}

// take adds what a frame says.
func (r *SearchResponse) take(data []byte, each func([]File) error) error {
	var frame struct {
		SearchResponse
		Type        string `json:"type"`
		Accumulated Stats  `json:"accumulatedStats"`
		Error       Error  `json:"error"`
	}
	if err := json.Unmarshal(data, &frame); err != nil {
		return fmt.Errorf("read a part of the answer: %w", err)
	}
	switch frame.Type {
	case "chunk":
		r.Repositories = append(r.Repositories, frame.Repositories...)
		return each(frame.Files)
	case "final":
		r.Stats, r.Notices, r.Exhaustive = frame.Accumulated, frame.Notices, frame.Exhaustive
		r.IncompleteReason, r.Explain = frame.IncompleteReason, frame.Explain
	case "error":
		return &frame.Error
	}
	return nil
}

// RawSearch asks the server and copies its answer to w as it is.
func (c *Client) RawSearch(ctx context.Context, r SearchRequest, w io.Writer) error {
	body, err := c.Raw(ctx, http.MethodPost, "/api/search", r)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(w, io.LimitReader(body, maxAnswerBytes))
	return err
}
