package client

import (
	"context"
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
}

// SearchResponse is its answer, as far as it is printed.
type SearchResponse struct {
	Stats struct {
		ActualMatchCount int `json:"actualMatchCount"`
	} `json:"stats"`
	Files []File `json:"files"`
	// Repositories are those of the files, or, without files, those that a query
	// with type:repo found.
	Repositories []struct {
		Name string `json:"name"`
	} `json:"repositoryInfo"`
	Notices          []Notice `json:"notices"`
	Exhaustive       bool     `json:"isSearchExhaustive"`
	IncompleteReason string   `json:"incompleteReason"` // empty if Exhaustive
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

// Search asks the server.
func (c *Client) Search(ctx context.Context, r SearchRequest) (*SearchResponse, error) {
	out := new(SearchResponse)
	return out, c.call(ctx, http.MethodPost, "/api/search", r, out)
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
