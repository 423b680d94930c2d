package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

type eventsCommand struct {
	Tail tailCommand `cmd:"" help:"Print the events of the log as JSON lines."`
}

type tailCommand struct {
	askFlags
	From   string `placeholder:"POSITION" help:"Start at this position, as partition/offset or as a position is printed, and print this partition only. The default is the whole log."`
	Follow bool   `short:"f" help:"Wait for new events at the end of the log."`
}

// Help implements kong.HelpProvider.
func (*tailCommand) Help() string {
	return `Prints one JSON object per line for each event: its position, its CloudEvents attributes and its data.

Examples:

	quarry events tail --follow
	quarry events tail --from 3/120 | jq .type`
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
	if _, err := io.Copy(s.out, answer.Body); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
