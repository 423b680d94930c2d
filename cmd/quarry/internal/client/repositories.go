package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Registration is the body of POST /api/repos: CloneURL or Path, one of them.
type Registration struct {
	CloneURL string   `json:"cloneUrl,omitempty"`
	Path     string   `json:"path,omitempty"`
	Name     string   `json:"name,omitempty"`
	Branches []string `json:"branches,omitempty"`
}

// Registered is its answer.
type Registered struct {
	ID       uint64   `json:"repoId"`
	Name     string   `json:"repoName"`
	Position Position `json:"position"`
}

// Position is a place in the event log.
type Position struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// String returns topic/partition/offset.
func (p Position) String() string { return fmt.Sprintf("%s/%d/%d", p.Topic, p.Partition, p.Offset) }

// Reached reports whether p lies at or behind q in the same partition.
func (p *Position) Reached(q Position) bool {
	return p != nil && p.Partition == q.Partition && p.Offset >= q.Offset
}

// Status is the answer of GET /api/repos/{id}/status.
type Status struct {
	Name         string    `json:"repoName"`
	State        string    `json:"state"`
	Progress     Progress  `json:"progress"`
	LastError    *Failure  `json:"lastError"`
	Files        int       `json:"files"`
	SkippedFiles int       `json:"skippedFiles"`
	Applied      *Position `json:"appliedPosition"`
}

// The states of a repository that end a wait.
const (
	StateIndexed = "indexed"
	StateFailed  = "failed"
)

// Progress is how far an import is; totals are 0 until they are known.
type Progress struct {
	Files      int   `json:"files"`
	FilesTotal int   `json:"filesTotal"`
	Bytes      int64 `json:"bytes"`
	BytesTotal int64 `json:"bytesTotal"`
}

// Failure is why an import failed.
type Failure struct {
	Message string    `json:"message"`
	At      time.Time `json:"at"`
}

// Register asks the server to index a repository.
func (c *Client) Register(ctx context.Context, r Registration) (*Registered, error) {
	out := new(Registered)
	return out, c.call(ctx, http.MethodPost, "/api/repos", r, out)
}

// Status returns how far a repository is.
func (c *Client) Status(ctx context.Context, id uint64) (*Status, error) {
	out := new(Status)
	return out, c.call(ctx, http.MethodGet, "/api/repos/"+strconv.FormatUint(id, 10)+"/status", nil, out)
}
