package host

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// maxPending bounds the pushes that wait for their delivery.
const maxPending = 8

// pushPause is the mean pause between two pushes of a repository. retryPause is the pause
// after a failed delivery.
const (
	pushPause  = 120 * time.Millisecond
	retryPause = 150 * time.Millisecond
)

// ErrAnswer means that a webhook got a response that no fault explains.
var ErrAnswer = errors.New("unexpected webhook response")

// Hook is the destination of deliveries. Clock returns the time at the host.
type Hook struct {
	Secret []byte
	Path   string
	Clock  func() time.Time
	// Base returns the URL of the server, which changes with each start.
	Base func() string
	// Tolerate reports whether a status other than 202 and 503 is expected.
	Tolerate func(status int) bool
}

// Secret returns a secret in the form of a configuration file.
func Secret(secret []byte) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(secret)
}

// Counts are the results of deliveries.
type Counts struct {
	// Pushes counts the pushes. Acknowledged counts deliveries with 202, Refused those
	// with 503, and Failed those without a response.
	Pushes, Acknowledged, Refused, Failed, Redelivered int
}

// Sender pushes to one repository and delivers it.
type Sender struct {
	Repository *Repository
	Hook       Hook
	// Counts and Acknowledged, the IDs that got 202, may be read only while Run is not
	// running.
	Counts       Counts
	Acknowledged []string

	client  *http.Client
	pending []delivery
	// positions holds the last acknowledged push of each ref since ForgetPositions.
	positions map[string]string
	sent      int
}

type delivery struct {
	id    string
	ref   string
	body  []byte
	tries int
}

// NewSender returns a sender. Like hosts, its client times out.
func NewSender(r *Repository, h Hook) *Sender {
	return &Sender{Repository: r, Hook: h, positions: map[string]string{}, client: &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// MinPosition returns the position of the last acknowledged push of each ref, as the
// minPosition of a search. It is empty if there was none since ForgetPositions.
func (s *Sender) MinPosition() string {
	return strings.Join(slices.Sorted(maps.Values(s.positions)), ",")
}

// ForgetPositions forgets the pushes so far, which were found.
func (s *Sender) ForgetPositions() { clear(s.positions) }

// Run pushes and delivers until ctx ends.
func (s *Sender) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if len(s.pending) < maxPending {
			// Do not interrupt a push: half of it would be in git and not in the model.
			if err := s.pushOnce(context.WithoutCancel(ctx)); err != nil {
				return err
			}
		}
		if err := s.deliverPending(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		wait := pushPause/2 + time.Duration(s.Repository.random.Int64N(int64(pushPause)))
		if len(s.pending) > 0 {
			wait = retryPause
		}
		_ = clock.Sleep(ctx, wait) // the loop checks ctx
	}
	return nil
}

// Flush delivers the queued webhooks until none is left or ctx ends.
func (s *Sender) Flush(ctx context.Context) error {
	for len(s.pending) > 0 {
		if err := s.deliverPending(ctx); err != nil {
			return err
		}
		if len(s.pending) > 0 {
			_ = clock.Sleep(ctx, retryPause) // ctx is checked below
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %d pushes could not be delivered: %w", s.Repository.Name, len(s.pending), ctx.Err())
		}
	}
	return nil
}

// pushOnce makes one push and queues its delivery.
func (s *Sender) pushOnce(ctx context.Context) error {
	move, err := s.Repository.Push(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"repository": s.Repository.Dir, "ref": move.Ref, "before": move.Before, "after": move.After})
	if err != nil {
		return err
	}
	s.sent++
	s.Counts.Pushes++
	s.pending = append(s.pending, delivery{id: fmt.Sprintf("msg_%s_%d", s.Repository.Name, s.sent), ref: move.Ref, body: body})
	return nil
}

// deliverPending sends the queued webhooks, oldest first, until one is not accepted.
func (s *Sender) deliverPending(ctx context.Context) error {
	for len(s.pending) > 0 {
		d := &s.pending[0]
		if d.tries++; d.tries > 1 {
			s.Counts.Redelivered++
		}
		status, answer, err := s.sendDelivery(ctx, d)
		switch {
		case err != nil: // killed or starting: the push was not acknowledged
			s.Counts.Failed++
			return nil
		case status == http.StatusAccepted:
			s.Counts.Acknowledged++
			s.Acknowledged = append(s.Acknowledged, d.id)
			var accepted struct{ Positions []event.Position }
			if err := json.Unmarshal([]byte(answer), &accepted); err != nil || len(accepted.Positions) != 1 {
				return fmt.Errorf("%s: %w: want one position: %s", d.id, ErrAnswer, answer)
			}
			s.positions[d.ref] = accepted.Positions[0].String()
			s.pending = s.pending[1:]
		case status == http.StatusServiceUnavailable || s.Hook.Tolerate(status):
			s.Counts.Refused++
			return nil
		default:
			return fmt.Errorf("%s: %w: %d %s", d.id, ErrAnswer, status, answer)
		}
	}
	return nil
}

func (s *Sender) sendDelivery(ctx context.Context, d *delivery) (status int, answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Hook.Base()+s.Hook.Path, bytes.NewReader(d.body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	signature.SetStandard(request.Header, d.id, s.Hook.Clock(), d.body, s.Hook.Secret)
	response, err := s.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	return response.StatusCode, string(text), err
}
