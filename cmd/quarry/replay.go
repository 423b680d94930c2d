package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/server"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/terminal"
)

type replayCommand struct {
	configFlags
	Verify bool `help:"Switch nothing: rebuild in a temporary directory and compare every key and value."`
}

// Run implements the command. It wants the server stopped: it takes the data
// directory.
func (c *replayCommand) Run(ctx context.Context, s streams) (err error) {
	settings, logger, err := c.load(s)
	if err != nil {
		return err
	}
	boot.ApplyMemoryLimit(int64(settings.Runtime.MemoryLimitBytes), settings.Runtime.GCPercent)
	registry := prometheus.NewRegistry()
	r, err := server.OpenRebuild(ctx, server.Options{Config: &settings, Logger: logger, Registerer: registry, Gatherer: registry})
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	display := terminal.NewProgress(s.err, time.Now)
	defer display.Close()
	progress := func(done, total int64) { display.Update(fmt.Sprintf("%d of %d records", done, total)) }
	if !c.Verify {
		if err := r.Switch(ctx, progress); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		display.Print("the projections were rebuilt from the log")
		return nil
	}
	rows, err := r.Verify(ctx, progress)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	_, err = fmt.Fprintf(s.out, "%d rows are equal to a rebuild from the log\n", rows)
	return err
}
