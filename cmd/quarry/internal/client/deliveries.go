package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Delivery is an element of GET /api/deliveries, as far as it is printed.
type Delivery struct {
	ID         string    `json:"id"`
	Position   Position  `json:"position"`
	Source     string    `json:"source"`
	Connection string    `json:"connection,omitzero"`
	DeliveryID string    `json:"deliveryId,omitzero"`
	Verified   *bool     `json:"verified,omitzero"`
	BodySHA256 string    `json:"bodySha256,omitzero"`
	RepoID     uint64    `json:"repoId,omitzero"`
	RepoName   string    `json:"repoName,omitzero"`
	ReceivedAt time.Time `json:"receivedAt,omitzero"`
	LoggedAt   time.Time `json:"loggedAt,omitzero"`
	Outcome    string    `json:"outcome"`
	Reason     string    `json:"reason,omitzero"`
	Of         *Position `json:"duplicateOf,omitzero"`
	TakenAs    *Position `json:"takenAs,omitzero"`
	Suppressed int64     `json:"suppressed,omitzero"`
	Duplicates struct {
		Count  int64     `json:"count,omitzero"`
		LastAt time.Time `json:"lastAt,omitzero"`
	} `json:"duplicates,omitzero"`
	Pushes []DeliveredPush `json:"pushes"`
}

// DeliveredPush is one ref of a delivery.
type DeliveredPush struct {
	Position     Position  `json:"position"`
	Ref          string    `json:"ref,omitzero"`
	Before       string    `json:"before,omitzero"`
	After        string    `json:"after,omitzero"`
	Action       string    `json:"action"`
	Outcome      string    `json:"outcome"`
	Reason       string    `json:"reason,omitzero"`
	DeadLetter   *Position `json:"deadLetter,omitzero"`
	Commit       string    `json:"commit,omitzero"`
	ChangedFiles *int      `json:"changedFiles,omitzero"`
	NewDocuments int       `json:"newDocuments"`
	Segments     int       `json:"segments"`
	IndexedWith  *Position `json:"indexedWith,omitzero"`
	AnsweredBy   *Position `json:"answeredBy,omitzero"`
	DoneAt       time.Time `json:"doneAt,omitzero"`
	SearchableAt time.Time `json:"searchableAt,omitzero"`
	Clock        string    `json:"searchableAtClock,omitzero"`
}

// DeliveryPage is the answer of GET /api/deliveries.
type DeliveryPage struct {
	Deliveries []Delivery `json:"deliveries"`
	Next       string     `json:"nextCursor,omitzero"`
}

// Redelivered is the answer of POST /api/deliveries/{id}/redeliver.
type Redelivered struct {
	DeliveryID string     `json:"deliveryId"`
	Positions  []Position `json:"positions"`
}

// Deliveries returns a page of those that the parameters of the API select.
func (c *Client) Deliveries(ctx context.Context, query url.Values) (*DeliveryPage, error) {
	out := new(DeliveryPage)
	return out, c.call(ctx, http.MethodGet, "/api/deliveries?"+query.Encode(), nil, out)
}

// Delivery returns the delivery with that id.
func (c *Client) Delivery(ctx context.Context, id string) (*Delivery, error) {
	out := new(Delivery)
	return out, c.call(ctx, http.MethodGet, "/api/deliveries/"+url.PathEscape(id), nil, out)
}

// Redeliver has the server look at the refs of a delivery again.
func (c *Client) Redeliver(ctx context.Context, id string) (*Redelivered, error) {
	out := new(Redelivered)
	return out, c.call(ctx, http.MethodPost, "/api/deliveries/"+url.PathEscape(id)+"/redeliver", nil, out)
}
