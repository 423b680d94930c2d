package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/quarrysearch/quarry/pipeline/tail"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/schemas/clock"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

type eventsCommand struct {
	Tail  tailCommand  `cmd:"" help:"Print the events of the log as JSON lines."`
	Watch watchCommand `cmd:"" help:"Print events of the repositories that you may read as JSON lines."`
}

type tailCommand struct {
	askFlags
	From   string `placeholder:"POSITION" help:"Start at this position and print only its partition. Takes partition/offset or a position as printed. The default is the whole log."`
	Follow bool   `short:"f" help:"Wait for new events at the end of the log."`
}

// Help implements kong.HelpProvider.
func (*tailCommand) Help() string {
	return `Prints one JSON object per line for each event: its position, its CloudEvents attributes and its data.

Examples:

	quarry events tail --follow
	quarry events tail --from 3/120 | jq .type

If the record at the position was deleted from the log, it begins at the first one that is kept, and says so on standard error.`
}

// Run implements the command.
func (c *tailCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	query := url.Values{}
	if c.From != "" {
		query.Set("from", c.From)
	}
	if c.Follow {
		query.Set("follow", "true")
	}
	answer, err := server.Raw(ctx, http.MethodGet, "/admin/events?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	for _, notice := range answer.Header.Values(tail.HeaderNotice) {
		if _, err := fmt.Fprintln(s.err, notice); err != nil {
			return err
		}
	}
	if _, err := io.Copy(s.out, answer.Body); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

type watchCommand struct {
	askFlags
	Since string `placeholder:"POSITION" help:"Start after this position, taken from an earlier line. Positions are valid for 15 minutes. The default is now."`
	Once  bool   `help:"Print the events since the position and the position to resume from, and exit."`
}

// Help implements kong.HelpProvider.
func (*watchCommand) Help() string {
	return `Prints one JSON object per line: pushes that became searchable, repositories that were registered, changed or
removed, the progress of imports and, for owners, the outcomes of webhook deliveries. It reconnects and resumes when
the server restarts; a line of type lost means that events were missed.

Examples:

	quarry events watch
	quarry events watch | jq 'select(.type == "searchable")'
	quarry events watch --once`
}

// These bound the pause before the next connection attempt.
const (
	firstWatchPause = time.Second
	lastWatchPause  = 30 * time.Second
)

// Run implements the command.
func (c *watchCommand) Run(ctx context.Context, s streams) error {
	server, err := c.newClient()
	if err != nil {
		return err
	}
	w := watch{out: json.NewEncoder(s.out), since: c.Since, all: c.Once}
	if c.Once {
		return w.follow(ctx, server, false)
	}
	for {
		before := w.since
		err := w.follow(ctx, server, true)
		if refusal, ok := errors.AsType[*client.Error](err); ok && refusal.StatusCode < http.StatusInternalServerError &&
			refusal.StatusCode != http.StatusTooManyRequests {
			return err
		}
		if w.pause = min(2*w.pause, lastWatchPause); err == nil || w.since != before {
			w.pause = firstWatchPause
		}
		if clock.Sleep(ctx, w.pause) != nil {
			return nil
		}
	}
}

// watch prints events and keeps the position of the last one.
type watch struct {
	out   *json.Encoder
	since string
	pause time.Duration
	// all also prints frames that contain only a position.
	all bool
}

// follow reads one response to its end.
func (w *watch) follow(ctx context.Context, server *client.Client, follow bool) error {
	for f, err := range server.FollowEvents(ctx, client.FollowEventsParams{Since: w.since, Follow: follow}) {
		if err != nil {
			return err
		}
		if f.Position != "" {
			w.since = f.Position
		}
		if !w.all && (f.Type == wire.EventFrameTypeReady || f.Type == wire.EventFrameTypePosition) {
			continue
		}
		if err := w.out.Encode(f); err != nil {
			return err
		}
	}
	return nil
}
