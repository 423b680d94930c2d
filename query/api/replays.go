package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/mux"
)

// Replays builds versions of the index next to the live one, and switches between
// them.
type Replays interface {
	// Start begins a replay and returns it. The error wraps ErrReplayRefused for
	// what can never be, ErrReplaying if one is running.
	Start(ctx context.Context, r ReplayRequest) (Replay, error)
	// Rollback begins to return to the version before. The error wraps ErrReplaying
	// if a replay is running or there is none to return to.
	Rollback(ctx context.Context) (Replay, error)
	// Cancel ends a replay that is running; one that has ended stays as it is. The
	// error wraps code.ErrNotFound.
	Cancel(ctx context.Context, id int) (Replay, error)
	// List returns the latest replays, the newest first, and the versions.
	List(ctx context.Context) (ReplayList, error)
}

// Errors of Replays.
var (
	// ErrReplayRefused says that there is no such projection, or no such moment.
	ErrReplayRefused = errors.New("cannot be replayed")
	// ErrReplaying says that the request cannot begin in the current state.
	ErrReplaying = errors.New("no replay can begin")
)

// ReplayRequest is the body of POST /api/replays.
type ReplayRequest struct {
	// Projection is the projection to rebuild; empty for all.
	Projection string `json:"projection"`
	// To is a moment of the past: a time as of RFC 3339, or partition/offset.
	To string `json:"to"`
	// Force replaces the live version even by one that lacks documents which it has.
	Force bool `json:"force"`
}

// ReplayState is how far a replay is.
type ReplayState string

// The states of a replay; the last three are final.
const (
	ReplayBuilding  ReplayState = "building"  // records are applied next to the live version
	ReplaySwitching ReplayState = "switching" // it takes the place of the live version
	ReplayDone      ReplayState = "done"
	ReplayFailed    ReplayState = "failed"
	ReplayCanceled  ReplayState = "canceled"
)

// Replay is one replay, or return to the version before.
type Replay struct {
	ID         int         `json:"id"`
	Rollback   bool        `json:"rollback"`
	Projection string      `json:"projection,omitempty"`
	To         string      `json:"to,omitempty"`
	State      ReplayState `json:"state"`
	// Records counts those applied, of RecordsTotal.
	Records          int64   `json:"records"`
	RecordsTotal     int64   `json:"recordsTotal"`
	RecordsPerSecond float64 `json:"recordsPerSecond"`
	// MissingDocuments counts those of the past that nothing holds any more.
	MissingDocuments int       `json:"missingDocuments"`
	Warning          string    `json:"warning,omitempty"`
	Error            string    `json:"error,omitempty"`
	BegunAt          time.Time `json:"-"`
	EndedAt          time.Time `json:"-"`
}

// ProjectionVersion is a version of what searches read.
type ProjectionVersion struct {
	Name string `json:"name"`
	// AsOf is the moment of the past that it shows; empty for the present.
	AsOf             string `json:"asOf,omitempty"`
	CopyOf           string `json:"copyOf,omitempty"`
	Projection       string `json:"projection,omitempty"`
	MissingDocuments int    `json:"missingDocuments"`
	// MissingFiles lists the paths of some of them, "repository: path".
	MissingFiles []string `json:"missingFiles,omitempty"`
	// DiskBytes counts files that versions share in each of them.
	DiskBytes   int64     `json:"diskBytes"`
	CompletedAt time.Time `json:"-"`
}

// ReplayList is what Replays.List returns.
type ReplayList struct {
	Current ProjectionVersion
	// Previous is nil if none is kept.
	Previous *ProjectionVersion
	Replays  []Replay
	// Projections are the names that a replay request may contain.
	Projections []string
}

// replayItem is a Replay as it is written.
type replayItem struct {
	Replay
	BegunAt *jsonTime `json:"begunAt"`
	EndedAt *jsonTime `json:"endedAt,omitempty"`
}

type versionItem struct {
	ProjectionVersion
	CompletedAt *jsonTime `json:"completedAt,omitempty"`
}

type replaysResponse struct {
	Current     versionItem  `json:"current"`
	Previous    *versionItem `json:"previous,omitempty"`
	Replays     []replayItem `json:"replays"`
	Projections []string     `json:"projections"`
}

func itemOfReplay(r Replay) replayItem {
	return replayItem{r, optionalTime(r.BegunAt), optionalTime(r.EndedAt)}
}

func itemOfVersion(v ProjectionVersion) versionItem {
	return versionItem{v, optionalTime(v.CompletedAt)}
}

var errNoReplays = fmt.Errorf("%w: this process has no projections", ErrUnavailable)

func (s *Server) startReplay(r *http.Request) (*reply, error) {
	var in ReplayRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	return s.replyWithReplay(func(replays Replays) (Replay, error) { return replays.Start(r.Context(), in) })
}

func (s *Server) rollBack(r *http.Request) (*reply, error) {
	return s.replyWithReplay(func(replays Replays) (Replay, error) { return replays.Rollback(r.Context()) })
}

func (s *Server) cancelReplay(r *http.Request) (*reply, error) {
	text := mux.Vars(r)["replayId"]
	id, err := strconv.Atoi(text)
	if err != nil || id < 1 {
		return nil, fmt.Errorf("%w: replayId: want a number from 1, have %.40q", errPathParams, text)
	}
	return s.replyWithReplay(func(replays Replays) (Replay, error) { return replays.Cancel(r.Context(), id) })
}

// replyWithReplay answers 202 with the replay.
func (s *Server) replyWithReplay(f func(Replays) (Replay, error)) (*reply, error) {
	if s.o.Replays == nil {
		return nil, errNoReplays
	}
	replay, err := f(s.o.Replays)
	if err != nil {
		return nil, err
	}
	return acceptedReply(itemOfReplay(replay)), nil
}

func (s *Server) listReplays(r *http.Request) (*reply, error) {
	if s.o.Replays == nil {
		return nil, errNoReplays
	}
	list, err := s.o.Replays.List(r.Context())
	if err != nil {
		return nil, err
	}
	out := replaysResponse{Current: itemOfVersion(list.Current), Replays: []replayItem{}, Projections: list.Projections}
	if list.Previous != nil {
		previous := itemOfVersion(*list.Previous)
		out.Previous = &previous
	}
	for _, replay := range list.Replays {
		out.Replays = append(out.Replays, itemOfReplay(replay))
	}
	return okReply(out), nil
}
