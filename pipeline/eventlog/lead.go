package eventlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Joiner is the part of a Log that Rejoin and Lead use.
type Joiner interface {
	Join(ctx context.Context, group string, topic event.Topic, handle func(ctx context.Context, a Assignment) error) error
}

// Backoff bounds the waits before a group is rejoined: Min after the first failure, then
// twice as long each time, up to Max. Jitter, if set, returns the wait to use instead.
type Backoff struct {
	Min, Max time.Duration
	Jitter   func(wait time.Duration) time.Duration
}

// Rejoin joins a group, and rejoins after failures, until ctx ends. A membership of more
// than b.Max resets the wait. It returns nil, or an error that wraps ErrClosed.
func Rejoin(ctx context.Context, log Joiner, group string, topic event.Topic, b Backoff, logger *slog.Logger, handle func(ctx context.Context, a Assignment) error) error {
	for wait := b.Min; ; wait = min(2*wait, b.Max) {
		joined := time.Now()
		err := log.Join(ctx, group, topic, handle)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, ErrClosed) {
			return fmt.Errorf("group %s: %w", group, err)
		}
		if time.Since(joined) > b.Max {
			wait = b.Min
		}
		logger.Warn("left the consumer group; rejoining", "group", group, "error", err)
		pause := wait
		if b.Jitter != nil {
			pause = b.Jitter(wait)
		}
		if clock.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

// leaderBackoff applies to groups of which one process leads.
var leaderBackoff = Backoff{Min: time.Second, Max: time.Minute}

// Lead calls work in one process of a group at a time, until ctx ends. The members share
// the topic of the accounts, which has one partition: the member that is assigned it
// leads. Lead cancels the context of work when another process takes over; work must then
// return. The group never commits. Errors are those of Rejoin.
func Lead(ctx context.Context, log Joiner, group string, logger *slog.Logger, work func(ctx context.Context) error) error {
	return Rejoin(ctx, log, group, event.TopicAccounts, leaderBackoff, logger, func(ctx context.Context, a Assignment) error {
		if a.Partition() != 0 {
			<-ctx.Done()
			return ctx.Err()
		}
		return work(ctx)
	})
}
