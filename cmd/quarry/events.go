package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

type eventsCommand struct {
	Tail tailCommand `cmd:"" help:"Print the log as JSON lines."`
}

type tailCommand struct {
	askFlags
	From   string `placeholder:"POSITION" help:"Begin at partition/offset, or at a position as it is printed; other partitions are left out. Without it: the whole log."`
	Follow bool   `short:"f" help:"Go on when the end is reached."`
}

// Run implements the command.
func (c *tailCommand) Run(ctx context.Context, s streams) error {
	server, err := c.client()
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
