package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
)

// ReplayRequest is the body of POST /api/replays.
type ReplayRequest struct {
	Projection string `json:"projection,omitempty"`
	To         string `json:"to,omitempty"`
}

// Replay is how far a replay is.
type Replay struct {
	ID               int     `json:"id"`
	State            string  `json:"state"`
	Records          int64   `json:"records"`
	RecordsTotal     int64   `json:"recordsTotal"`
	RecordsPerSecond float64 `json:"recordsPerSecond"`
	MissingDocuments int     `json:"missingDocuments"`
	Warning          string  `json:"warning"`
	Error            string  `json:"error"`
}

// The states of a replay that the commands tell apart.
const (
	ReplaySwitching = "switching"
	ReplayDone      = "done"
	ReplayFailed    = "failed"
	ReplayCanceled  = "canceled"
)

// Version is a version of what searches read.
type Version struct {
	Name string `json:"name"`
	AsOf string `json:"asOf"`
}

// replayList is the answer of GET /api/replays.
type replayList struct {
	Current Version  `json:"current"`
	Replays []Replay `json:"replays"`
}

// StartReplay asks the server to build a version of what searches read.
func (c *Client) StartReplay(ctx context.Context, r ReplayRequest) (*Replay, error) {
	out := new(Replay)
	return out, c.call(ctx, http.MethodPost, "/api/replays", r, out)
}

// Rollback asks the server to return to the version before.
func (c *Client) Rollback(ctx context.Context) (*Replay, error) {
	out := new(Replay)
	return out, c.call(ctx, http.MethodPost, "/api/replays/rollback", nil, out)
}

// CancelReplay asks the server to stop a replay.
func (c *Client) CancelReplay(ctx context.Context, id int) (*Replay, error) {
	out := new(Replay)
	return out, c.call(ctx, http.MethodDelete, "/api/replays/"+strconv.Itoa(id), nil, out)
}

// Replay returns how far a replay is, and the version that is live.
func (c *Client) Replay(ctx context.Context, id int) (*Replay, Version, error) {
	var list replayList
	if err := c.call(ctx, http.MethodGet, "/api/replays", nil, &list); err != nil {
		return nil, Version{}, err
	}
	for i := range list.Replays {
		if list.Replays[i].ID == id {
			return &list.Replays[i], list.Current, nil
		}
	}
	return nil, Version{}, fmt.Errorf("the server knows no replay %d; it may have started again", id)
}
