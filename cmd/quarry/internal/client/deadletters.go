package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// DeadLetter is an element of GET /api/deadletters.
type DeadLetter struct {
	ID         string    `json:"id"`
	Position   Position  `json:"position"`
	Of         *Position `json:"recordPosition,omitzero"`
	Stage      string    `json:"stage"`
	Reason     string    `json:"reason"`
	Attempts   int       `json:"attempts"`
	Type       string    `json:"type,omitzero"`
	RepoID     uint64    `json:"repoId,omitzero"`
	RepoName   string    `json:"repoName,omitzero"`
	At         time.Time `json:"at,omitzero"`
	ValueBytes int       `json:"valueBytes"`
	Copies     int       `json:"copies,omitzero"`
}

// DeadLetterDetails is the answer of GET /api/deadletters/{partition}/{offset}.
type DeadLetterDetails struct {
	DeadLetter
	Key     string `json:"key,omitzero"`
	Headers []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"headers"`
	Value       string          `json:"value,omitzero"`
	ValueBase64 []byte          `json:"valueBase64,omitzero"`
	Event       json.RawMessage `json:"event,omitzero"`
	Unreadable  string          `json:"unreadable,omitzero"`
}

// DeadLetterPage is the answer of GET /api/deadletters.
type DeadLetterPage struct {
	Open    int          `json:"open"`
	Letters []DeadLetter `json:"letters"`
}

// Resolved is the answer to a letter's replay or drop.
type Resolved struct {
	ID         string    `json:"id"`
	Resolution string    `json:"resolution"`
	By         *Position `json:"resolvedBy,omitzero"`
}

// ResolvedAll is the answer to the replay or drop of several.
type ResolvedAll struct {
	Resolved int `json:"resolved"`
	Refused  []struct {
		ID      string `json:"id"`
		Message string `json:"message"`
	} `json:"refused"`
	Remaining int `json:"remaining"`
}

// DeadLetters returns a page of those that the parameters of the API select.
func (c *Client) DeadLetters(ctx context.Context, query url.Values) (*DeadLetterPage, error) {
	out := new(DeadLetterPage)
	return out, c.call(ctx, http.MethodGet, "/api/deadletters?"+query.Encode(), nil, out)
}

func letterPath(partition int32, offset int64) string {
	return "/api/deadletters/" + strconv.Itoa(int(partition)) + "/" + strconv.FormatInt(offset, 10)
}

// DeadLetter returns one letter with the record that was given up.
func (c *Client) DeadLetter(ctx context.Context, partition int32, offset int64) (*DeadLetterDetails, error) {
	out := new(DeadLetterDetails)
	return out, c.call(ctx, http.MethodGet, letterPath(partition, offset), nil, out)
}

// ReplayDeadLetter replays one letter.
func (c *Client) ReplayDeadLetter(ctx context.Context, partition int32, offset int64) (*Resolved, error) {
	out := new(Resolved)
	return out, c.call(ctx, http.MethodPost, letterPath(partition, offset)+"/replay", nil, out)
}

// DropDeadLetter drops one letter.
func (c *Client) DropDeadLetter(ctx context.Context, partition int32, offset int64, reason string) (*Resolved, error) {
	out := new(Resolved)
	return out, c.call(ctx, http.MethodDelete, letterPath(partition, offset)+"?"+url.Values{"reason": {reason}}.Encode(), nil, out)
}

// ReplayDeadLetters replays those that the parameters of the API select.
func (c *Client) ReplayDeadLetters(ctx context.Context, query url.Values) (*ResolvedAll, error) {
	out := new(ResolvedAll)
	return out, c.call(ctx, http.MethodPost, "/api/deadletters/replay?"+query.Encode(), nil, out)
}

// DropDeadLetters drops those that the parameters of the API select.
func (c *Client) DropDeadLetters(ctx context.Context, query url.Values) (*ResolvedAll, error) {
	out := new(ResolvedAll)
	return out, c.call(ctx, http.MethodDelete, "/api/deadletters?"+query.Encode(), nil, out)
}
