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

// Bounds of the wait before a group is rejoined.
const (
	minRejoin = time.Second
	maxRejoin = time.Minute
)

// Joiner is the part of a Log that Lead uses.
type Joiner interface {
	Join(ctx context.Context, group string, topic event.Topic, handle func(ctx context.Context, a Assignment) error) error
}

// Lead calls lead in one process of a group at a time, until ctx ends. The members of the
// group share the topic of the accounts, which has one partition: the member that is
// assigned it leads. The group never commits. lead returns when its context ends, because
// the process no longer leads. Lead rejoins the group after failures, with increasing
// waits. It returns an error only if the log is closed.
func Lead(ctx context.Context, log Joiner, group string, logger *slog.Logger, lead func(ctx context.Context) error) error {
	for wait := minRejoin; ; wait = min(2*wait, maxRejoin) {
		joined := time.Now()
		err := log.Join(ctx, group, event.TopicAccounts, func(ctx context.Context, a Assignment) error {
			if a.Partition() != 0 {
				<-ctx.Done()
				return ctx.Err()
			}
			return lead(ctx)
		})
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, ErrClosed) {
			return fmt.Errorf("lead group %s: %w", group, err)
		}
		if time.Since(joined) > maxRejoin {
			wait = minRejoin
		}
		logger.Warn("left a group of processes; rejoining", "group", group, "error", err)
		if clock.Sleep(ctx, wait) != nil {
			return nil
		}
	}
}
