package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/live"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// DefaultPositionWait bounds the wait for a minPosition.
const DefaultPositionWait = 10 * time.Second

// Positions waits for positions of the event log.
type Positions interface {
	// WaitFor blocks until a search that begins later sees p, or ctx ends. An event has its
	// full effect once what it changes is searchable, or it is given up. An event of a
	// repository for which sees returns false has none; a nil sees means true. The error
	// wraps failure.ErrPosition if the log has no such partition. reached is what a view of
	// CoveredViews must have reached, by partition; nil if each later view sees p.
	WaitFor(ctx context.Context, p event.LogPosition, sees func(*code.Repository) bool) (reached []event.Offset, err error)
}

// reachedKey is the key of what a view must have reached, in contexts of requests.
type reachedKey struct{}

// WithWantedPosition returns a context whose views must have reached the next offset of each
// partition.
func WithWantedPosition(ctx context.Context, next []event.Offset) context.Context {
	return context.WithValue(ctx, reachedKey{}, next)
}

// WantedPosition returns the next offset of each partition that a view of the context must
// have reached; nil for none.
func WantedPosition(ctx context.Context) []event.Offset {
	next, _ := ctx.Value(reachedKey{}).([]event.Offset)
	return next
}

// errNotReached reports that a search did not reach its minPosition in time.
var errNotReached = errors.New("minPosition was not reached")

// positionPurpose is the purpose of the positions that are encrypted.
const positionPurpose = "position of a search, 1"

// formatPosition returns the position of an answer: the next offset of each partition, such
// as "0:58,1:13". For callers who may not see every repository it is encrypted, because it
// counts the events of all.
func (s *Server) formatPosition(ctx context.Context, next []event.Offset) string {
	if len(next) == 0 {
		return ""
	}
	if !s.callerVisibility(ctx).Everything() {
		if s.positionCipher == nil {
			return ""
		}
		return s.positionCipher.Encrypt(next, s.o.Now())
	}
	return formatOffsets(next)
}

func formatOffsets(next []event.Offset) string {
	var b strings.Builder
	for partition, offset := range next {
		if partition > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d:%d", partition, offset)
	}
	return b.String()
}

// parsePosition parses a minPosition: the position of an answer, or a list of positions of
// events. Only callers who may see every repository may write the former themselves.
func (s *Server) parsePosition(ctx context.Context, text string) (p event.LogPosition, err error) {
	if !strings.ContainsAny(text, ":/") {
		if s.positionCipher != nil {
			p.Next, _, err = s.positionCipher.Decrypt(text)
		}
		if p.Next == nil || err != nil {
			return p, fmt.Errorf("%w: %w", failure.ErrPosition, live.ErrPosition)
		}
		return p, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		if left, right, ok := strings.Cut(item, ":"); ok {
			partition, err1 := strconv.Atoi(left)
			next, err2 := strconv.ParseUint(right, 10, 63)
			if err1 != nil || err2 != nil || partition != len(p.Next) {
				return p, fmt.Errorf("%w: %.80q: want the position of an answer, such as 0:58,1:13", failure.ErrPosition, text)
			}
			p.Next = append(p.Next, event.Offset(next))
			continue
		}
		at, err := event.ParsePosition(item)
		if err != nil || at.Topic != event.TopicEvents || len(p.Events) == event.MaxAwaited {
			return p, fmt.Errorf("%w: %.80q: want at most %d positions of events, such as %s/0/57", failure.ErrPosition, item, event.MaxAwaited, event.TopicEvents)
		}
		p.Events = append(p.Events, at)
	}
	if p.Next != nil && !s.callerVisibility(ctx).Everything() {
		return p, fmt.Errorf("%w: callers who cannot see every repository pass the position of an answer as it is", failure.ErrPosition)
	}
	return p, nil
}

// awaitPosition waits until searches see a minPosition, for at most Options.PositionWait. It
// returns the context for their views.
func (s *Server) awaitPosition(r *http.Request, text string) (context.Context, error) {
	if text == "" {
		return r.Context(), nil
	}
	if s.o.Positions == nil {
		return nil, fmt.Errorf("%w: this server knows no positions", failure.ErrUnavailable)
	}
	p, err := s.parsePosition(r.Context(), text)
	if err != nil {
		return nil, err
	}
	leave, err := s.front.EnterWait(front.ExchangeIn(r.Context()))
	if err != nil {
		result := waitRefused
		if !errors.Is(err, front.ErrTooManyWaits) {
			result = waitCallerRefused
		}
		s.metrics.positionWaits.WithLabelValues(result).Inc()
		return nil, err
	}
	defer leave()
	visible := s.callerVisibility(r.Context())
	sees := visible.Sees
	if visible.Everything() {
		sees = nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.PositionWait)
	defer cancel()
	ctx, span := tracing.Start(ctx, "wait for position")
	reached, err := s.o.Positions.WaitFor(ctx, p, sees)
	span.End(err)
	switch {
	case err == nil:
		s.metrics.positionWaits.WithLabelValues(waitReached).Inc()
		return WithWantedPosition(r.Context(), reached), nil
	case r.Context().Err() != nil:
		s.metrics.positionWaits.WithLabelValues(waitCanceled).Inc()
		return nil, fmt.Errorf("search: %w", r.Context().Err())
	case errors.Is(err, context.DeadlineExceeded):
		s.metrics.positionWaits.WithLabelValues(waitNotReached).Inc()
		if sees == nil {
			return nil, fmt.Errorf("%w within %v: want %.200s, this process is at %s", errNotReached, s.o.PositionWait, text, formatOffsets(s.o.Coverage().Next))
		}
		return nil, fmt.Errorf("%w within %v", errNotReached, s.o.PositionWait)
	}
	return nil, err
}
